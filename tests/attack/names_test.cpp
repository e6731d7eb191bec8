// Hostile names: for the terminal, the runner of CI, the shell, the compiler, and for every report.
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/attack/attack.h"

namespace assay::tests::names_test {
namespace {

struct Name {
  std::string name, text;
};
void PrintTo(const Name& name, std::ostream* stream) { *stream << name.name; }

std::vector<Name> names() {
  return {{"Escape", "\x1b[31mred\x1b[2J"},
          {"Title", "\x1b]0;title\x07"},
          {"CarriageReturn", "a\r1 case: 1 passed, 0 failed"},
          {"Newline", "a\n1 case: 1 passed, 0 failed"},
          {"Workflow", "::error::x"},
          {"WorkflowOnALine", "a\n::add-mask::x"},
          {"WorkflowOfAzure", "##vso[task.setvariable]x"},
          {"WorkflowBracket", "##[error]x"},
          {"Backspaces", "wrong\b\b\b\b\bright"},
          {"Bidi", "a\u202e\u2066x\u2069b"},
          {"InvisibleLines", "a\u2028\u2029\u0085::error::b"},
          {"ControlOfC1",
           "a\xc2\x9b"
           "31mb"},
          {"InvalidUtf8", "a\xff\xfe\xc0\x80z"},
          {"Formats", "%s%n%d%p{}{0}{:*>9999}"},
          {"Quote", "it's"},
          {"Quotes", "\"a\"'b'`c`"},
          {"Substitution", "$(touch @CANARY@x)`touch x`"},
          {"Commands", "a;touch x;&touch y|touch z"},
          {"Dash", "-o"},
          {"Option", "--sandbox=off"},
          {"Response", "@evil"},
          {"Space", " a  b "},
          {"Backslash", "a\\nb\\"},
          {"Globs", "*?[a-z]{b,c}~"},
          {"Script", "<script>alert(1)<"},
          {"Image", "\"><img src=x onerror=alert(1)>"},
          {"EndOfScript", "<\\script><img src=x>]]>-->"},
          {"Entities", "&amp;&lt;&#x1b;&quot;"},
          {"Cells", "a|b|c|`d`|[x](javascript:alert(1))"},
          {"Heading", "\n# h\n| a | b |\n"},
          {"Json", "\",\"status\":\"passed\",\"x\":\""},
          {"Comma", "a,b=c"},
          {"Long", std::string(240, 'a')},
          {"LongAndWide", [] {
             std::string text;
             for (int i = 0; i < 60; ++i) text += "\xf0\x9f\x92\xa9";
             return text;
           }()}};
}

std::string problem_of(const std::string& text) {
  static const std::regex control("[\\x00-\\x08\\x0b-\\x1f\\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]");
  static const std::regex runner("(^|\n)(\\s|\xc2\xa0|\xe2\x80[\x80-\x8d\xaf]|\xe3\x80\x80)*::|##[a-z]*\\[");
  static const std::regex forged("(^|\n)1 case: 1 passed, 0 failed");
  std::smatch found;
  for (const auto& [name, pattern] :
       {std::pair{"a control character", control}, {"a command to a runner", runner}, {"a forged summary", forged}}) {
    if (std::regex_search(text, found, pattern)) return std::string(name) + " after " + std::string(found.prefix()).substr(0, 300);
  }
  return {};
}
// What is left of commands that a report is meant to have, each on a line of its own.
std::string without_annotations(const std::string& text) {
  return std::regex_replace(text, std::regex("(^|\n)::(error|warning|notice) (file=[^:,\n]*,line=[0-9]+,)?title=[^:,\n]*::"), "$1x");
}
std::string in_shell(const std::string& text) { return "'" + std::regex_replace(text, std::regex("'"), "'\\''") + "'"; }

class Reports : public Attack, public ::testing::WithParamInterface<Name> {
 protected:
  void expect_clean(const std::string& what, const std::string& text) const {
    EXPECT_EQ(problem_of(text), "") << what;
    if (HasFailure()) std::printf("%s: %.600s\n", what.c_str(), text.c_str());
  }
  // Every row of a table has the cells of its head.
  static void expect_tables(const std::string& markdown) {
    std::istringstream lines(markdown);
    std::ptrdiff_t cells = -1;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("|")) {
        cells = -1;
        continue;
      }
      std::ptrdiff_t count = 0;
      for (std::size_t i = 0; i < line.size(); ++i) count += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
      if (cells >= 0) EXPECT_EQ(count, cells) << line;
      cells = count;
    }
  }
  void expect_reports(const std::string& kernel) const {
    std::filesystem::create_directories(folder_ / "out");
    const std::string out = (folder_ / "out/").string();
    const std::string selection = "'*/d256/h1/standalone/gauss/*'";
    const Ended run = start("run --kernel=" + kernel + " " + selection + " --ledger " + out + "l.sqlite --junit " + out + "j.xml --html " +
                            out + "h.html");
    expect_no_effect(run);
    expect_clean("run", run.output);
    if (run.status != 1) {
      EXPECT_EQ(run.status, 2) << "neither judged nor refused\n" << run.output;
      return;
    }
    pugi::xml_document junit;
    EXPECT_TRUE(junit.load_file((out + "j.xml").c_str()));
    for (const std::string format : {"text", "markdown", "json", "html", "junit", "sarif", "github"}) {
      const std::string text = start("report --format " + format + " --ledger " + out + "l.sqlite").output;
      if (format != "html") expect_clean(format, format == "github" ? without_annotations(text) : text);
      EXPECT_EQ(text.find("<img src=x"), std::string::npos) << format;
      EXPECT_EQ(text.find("<script>alert"), std::string::npos) << format;
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << format;
      if (format == "json" || format == "sarif") EXPECT_TRUE(nlohmann::json::accept(text)) << text.substr(0, 1000);
      if (format == "markdown") expect_tables(text);
      if (format == "junit") EXPECT_TRUE(pugi::xml_document().load_string(text.c_str()));
    }
    for (const std::string command : {"history", "report --list", "diff 1 1"})
      expect_clean(command, start(command + " --ledger " + out + "l.sqlite").output);
    expect_replay(run.output);
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "work"))
      EXPECT_FALSE(file.path().filename() == "x" || file.path().filename() == "y" || file.path().filename() == "z")
          << "a shell ran the name";
  }
  // The line that repeats a failure is one command, and it does so.
  void expect_replay(const std::string& output) const {
    static const std::regex replay("\n  replay: (assay [^\n]*)");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(output, found, replay)) << output;
    const Ended again = start("", "",
                              "cd '" + (folder_ / "work").string() + "'; export XDG_CACHE_HOME='" + (folder_ / "cache").string() +
                                  "' XDG_STATE_HOME='" + (folder_ / "state").string() + "' PATH=\"" + ASSAY_BINARY_DIR +
                                  "/bin:$PATH\"; { " + found[1].str() + " --ledger none; } 2>&1; exit $?; ");
    EXPECT_EQ(again.status, 1) << found[1] << "\n" << read_file(folder_ / "log");
  }
};

TEST_P(Reports, OfAFile) {
  const std::string name = GetParam().text + ".metal";
  std::string plain = name;
  std::erase(plain, '/');
  write(wrong(source_of("fwht_v1")), "work/" + plain);
  expect_reports(in_shell(plain) + " --family fwht");
}
TEST_P(Reports, OfAFolder) {
  std::string plain = GetParam().text;
  std::erase(plain, '/');
  std::filesystem::create_directories(folder_ / "work" / plain);
  write(wrong(source_of("fwht_v1")), "work/" + plain + "/kernel.metal");
  write("family = \"fwht\"\nsource = \"kernel.metal\"\n", "work/" + plain + "/variant.toml");
  expect_reports(in_shell(plain));
  const Ended all = start("run --ledger none --variants . smoke");
  expect_no_effect(all);
  expect_clean("variants", all.output);
}
TEST_P(Reports, InADescription) {
  const std::string text = nlohmann::json(GetParam().text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  describe("family = \"fwht\"\nsource = \"kernel.metal\"\nabout = " + text +
               "\n[[known_finding]]\nwhen = \"d == 512\"\nshows = \"failed\"\nsee = " + text + "\n",
           wrong(source_of("fwht_v1")));
  expect_reports("mine 'mine/d512/h8/undo/gauss/s1'");
}
TEST_P(Reports, OfAnIncludedFile) {
  std::string plain = GetParam().text + ".h";
  std::erase(plain, '/');
  write("float wrong(;\n", "work/" + plain);
  write("#include \"" + plain + "\"\n" + source_of("fwht_v1"), "work/evil.metal");
  const Ended ended = start("run --ledger none --kernel evil.metal --family fwht smoke");
  expect_no_effect(ended);
  expect_clean("include", ended.output);
  write("#line 1 " + nlohmann::json(plain).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\nfloat wrong(;\n" +
            source_of("fwht_v1"),
        "work/evil.metal");
  const Ended line = start("run --ledger none --kernel evil.metal --family fwht smoke");
  expect_no_effect(line);
  expect_clean("line", line.output);
}
TEST_P(Reports, InArguments) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  const std::string text = in_shell(GetParam().text);
  for (const std::string command : {"run --ledger none -- ", "list -- ", "dispatch -- ", "show --kernel evil.metal --family fwht -- ",
                                    "check-dispatch -- ", "report --run ", "history -- ", "compile -- ", "fixture info -- ",
                                    "run --ledger none --kernel evil.metal --constant ", "run --ledger none smoke --set ",
                                    "run --ledger none smoke --kernel evil.metal --family fwht -D ", "run --ledger none smoke --trust "}) {
    const Ended ended = start(command + text);
    expect_no_effect(ended);
    expect_clean(command, ended.output);
  }
}
INSTANTIATE_TEST_SUITE_P(Attack, Reports, ::testing::ValuesIn(names()), [](const auto& info) { return info.param.name; });

class Patterns : public Attack {};
TEST_F(Patterns, ThatTakeExponentialTime) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  std::string stars, nested(100000, '['), brackets;
  for (int i = 0; i < 60; ++i) stars += "*d", brackets += "[!a-z]*";
  for (const std::string& pattern : {stars + "z", brackets, nested, std::string(100000, '*') + "x", std::string(100000, '?')}) {
    const Ended ended = start("run --ledger none --kernel evil.metal --family fwht " + in_shell(pattern));
    expect_no_effect(ended);
    EXPECT_LT(ended.output.size(), 1U << 20U);
  }
}
TEST_F(Patterns, NumbersBeyondAllReason) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  for (const std::string name : {"evil/d99999999999999999999/h1/standalone/gauss/s1", "evil/d256/h4294967297/standalone/gauss/s1",
                                 "evil/d256/h65536/standalone/gauss/s18446744073709551616", "evil/d256/h-1/standalone/gauss/s1",
                                 "evil/d256/h1/standalone/gauss/s1/../../../x", "../evil/d256", "evil//d256", "/",
                                 "evil/d256/h1/standalone/h5-..%2f/s1", "evil/d256/h1/standalone/h5-../s1"}) {
    const Ended ended = start("run --ledger none --kernel evil.metal --family fwht " + in_shell(name));
    expect_no_effect(ended);
    EXPECT_EQ(ended.status, 2) << name << "\n" << ended.output.substr(0, 1000);
  }
}

}  // namespace
}  // namespace assay::tests::names_test
