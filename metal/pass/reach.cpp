// Keeps a source to the folders that it may include from, while the preprocessor runs.
//
// `#pragma assay_reach x<root> ...`, which the program writes in front of every source, names the folders in hexadecimal digits. Clang
// reports each file after it has looked it up and before it reads it, so that a device is never read.
#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

class Reach : public clang::PPCallbacks {
 public:
  Reach(const clang::SourceManager& sources, std::vector<std::string> roots) : sources_(sources), roots_(std::move(roots)) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name, bool, clang::CharSourceRange,
                          clang::OptionalFileEntryRef file, llvm::StringRef, llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    check(hash, name, file);
  }
  void HasInclude(clang::SourceLocation place, llvm::StringRef name, bool, clang::OptionalFileEntryRef file,
                  clang::SrcMgr::CharacteristicKind) override {
    check(place, name, file);
  }
  void EmbedDirective(clang::SourceLocation hash, llvm::StringRef, bool, clang::OptionalFileEntryRef,
                      const clang::LexEmbedParametersResult&) override {
    refuse(hash, "'#embed' is refused: Metal does not have it");
  }
  // It would tell which files there are.
  void HasEmbed(clang::SourceLocation place, llvm::StringRef, bool, clang::OptionalFileEntryRef) override {
    refuse(place, "'__has_embed' is refused: Metal does not have it");
  }

 private:
  [[noreturn]] void refuse(clang::SourceLocation place, const llvm::Twine& what) const {
    // Its real place, not that of `#line`.
    const auto at = sources_.getDecomposedExpansionLoc(place);
    const auto file = sources_.getFileEntryRefForID(at.first);
    llvm::errs() << (file ? file->getName() : llvm::StringRef("<macro>")) << ':' << sources_.getLineNumber(at.first, at.second)
                 << ": error: " << what << '\n';
    std::_Exit(1);
  }

  void check(clang::SourceLocation place, llvm::StringRef name, clang::OptionalFileEntryRef file) const {
    if (!file) return;
    llvm::SmallString<256> path;
    llvm::sys::fs::file_status status;
    if (llvm::sys::fs::real_path(file->getName(), path) || llvm::sys::fs::status(path, status)) return refuse_outside(place, name);
    if (status.type() != llvm::sys::fs::file_type::regular_file)
      refuse(place, "'" + printable(name) + "' is refused: it is not a regular file");
    for (const std::string& root : roots_) {
      llvm::StringRef rest = path;
      if (rest.consume_front(root) && (root == "/" || rest.starts_with("/"))) return;
    }
    refuse_outside(place, name);
  }

  void refuse_outside(clang::SourceLocation place, llvm::StringRef name) const {
    refuse(place, "'" + printable(name) +
                      "' is refused: it is, or a link leads it, outside of the kernel's folder and of its include folders (--include)");
  }

  static std::string printable(llvm::StringRef name) {
    std::string text = name.str();
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
  }

  const clang::SourceManager& sources_;
  std::vector<std::string> roots_;
};

// Opens regular files only: to open a pipe is to wait for its writer, and clang opens a file before it reports it.
class RegularFiles : public llvm::vfs::ProxyFileSystem {
 public:
  using ProxyFileSystem::ProxyFileSystem;

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    const auto status = getUnderlyingFS().status(path);
    if (status && !status->isRegularFile() && !status->isDirectory()) return std::make_error_code(std::errc::not_supported);
    return ProxyFileSystem::openFileForRead(path);
  }
};

class ReachPragma : public clang::PragmaHandler {
 public:
  ReachPragma() : PragmaHandler("assay_reach") {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer, clang::Token&) override {
    std::vector<std::string> roots;
    clang::Token token;
    for (preprocessor.LexUnexpandedToken(token); token.isNot(clang::tok::eod); preprocessor.LexUnexpandedToken(token)) {
      const std::string text = preprocessor.getSpelling(token);
      std::string root;
      if (text.size() > 1 && llvm::tryGetFromHex(llvm::StringRef(text).drop_front(), root)) roots.push_back(std::move(root));
    }
    auto& files = preprocessor.getFileManager();
    files.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<RegularFiles>(files.getVirtualFileSystemPtr()));
    // A source that writes it as well is restricted to its folders too.
    preprocessor.addPPCallbacks(std::make_unique<Reach>(preprocessor.getSourceManager(), std::move(roots)));
  }
};

const clang::PragmaHandlerRegistry::Add<ReachPragma> kPragmaRegistration("assay_reach", "the folders that a source may include from");

}  // namespace
