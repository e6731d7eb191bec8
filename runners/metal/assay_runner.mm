// Executes a bundle of `assay export` on a Mac's GPU. Nobody has run it on a Mac yet: so far only against the mock of tests/runner.
//
//   clang++ -std=c++17 -O2 -framework Metal -framework Foundation assay_runner.mm -o assay_runner     (without -fobjc-arc)
//   ./assay_runner BUNDLE
//
// Reads BUNDLE/manifest.json (docs/BUNDLES.md), executes every case, and writes BUNDLE/outputs/ and, last, BUNDLE/results.json. It judges
// nothing. A case that Metal refuses, or in which the kernel fails, is recorded with Metal's message; the others go on.
// Exit status: 0 all cases were tried; 2 the bundle or this machine cannot be used, and there is no results.json.
// Long because it is the one file to take to a Mac.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

// What is wrong with the bundle or the machine: ends the run.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What is wrong with one case, and the stage of it.
struct Refused {
  const char* stage;
  std::string text;
};

// JSON, as far as manifests need it: numbers are whole.
class Json {
 public:
  static Json parse(const std::string& text) {
    std::size_t at = 0;
    Json value = read(text, at, 0);
    skip(text, at);
    if (at != text.size()) throw Unusable("manifest.json: has text behind its end");
    return value;
  }

  const Json& operator[](const char* key) const {
    for (const auto& member : members_) {
      if (member.first == key) return member.second;
    }
    throw Unusable(std::string("manifest.json: '") + key + "' is missing");
  }
  bool has(const char* key) const {
    for (const auto& member : members_) {
      if (member.first == key) return true;
    }
    return false;
  }
  const std::vector<Json>& items() const { return items_; }
  const std::string& text() const { return text_; }
  bool is_null() const { return text_ == "null" && !is_string_; }
  std::uint64_t number() const {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text_.c_str(), &end, 10);
    if (is_string_ || text_.empty() || *end != '\0') throw Unusable("manifest.json: '" + text_ + "' is no whole number");
    return value;
  }

 private:
  static void skip(const std::string& text, std::size_t& at) {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr) ++at;
  }
  static void expect(const std::string& text, std::size_t& at, char c) {
    skip(text, at);
    if (at >= text.size() || text[at] != c)
      throw Unusable(std::string("manifest.json: expected '") + c + "' at character " + std::to_string(at));
    ++at;
  }
  static bool take(const std::string& text, std::size_t& at, char c) {
    skip(text, at);
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  static std::string read_string(const std::string& text, std::size_t& at) {
    expect(text, at, '"');
    std::string value;
    while (at < text.size() && text[at] != '"') {
      if (text[at] == '\\' && ++at < text.size() && std::strchr("\"\\/", text[at]) == nullptr)
        throw Unusable("manifest.json: has an escaped character that manifests do not need");
      if (at < text.size()) value += text[at++];
    }
    expect(text, at, '"');
    return value;
  }
  static Json read(const std::string& text, std::size_t& at, int depth) {
    if (depth > 16) throw Unusable("manifest.json: nests too deep");
    Json value;
    skip(text, at);
    if (take(text, at, '{')) {
      for (bool more = !take(text, at, '}'); more;) {
        skip(text, at);
        std::string key = read_string(text, at);
        expect(text, at, ':');
        value.members_.emplace_back(std::move(key), read(text, at, depth + 1));
        more = take(text, at, ',');
        if (!more) expect(text, at, '}');
      }
    } else if (take(text, at, '[')) {
      for (bool more = !take(text, at, ']'); more;) {
        value.items_.push_back(read(text, at, depth + 1));
        more = take(text, at, ',');
        if (!more) expect(text, at, ']');
      }
    } else if (at < text.size() && text[at] == '"') {
      value.is_string_ = true;
      value.text_ = read_string(text, at);
    } else {
      while (at < text.size() && std::strchr(",]} \t\r\n", text[at]) == nullptr) value.text_ += text[at++];
      if (value.text_.empty()) throw Unusable("manifest.json: ends in the middle");
    }
    return value;
  }

  bool is_string_ = false;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
};

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char escaped[8];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (json += '\\') += c;
    } else if (byte < 0x20 || byte > 0x7e) {  // Metal's messages may have any character; one byte of it is enough here
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      json += byte == '\n' ? "\\n" : escaped;
    } else {
      json += c;
    }
  }
  return json + '"';
}

std::string bytes_of_hex(const std::string& hex) {
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Unusable("manifest.json: '" + hex + "' are no hexadecimal bytes");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// FNV-1a, with which the judge sees whether an output arrived as it was written.
std::string digest_of(const char* bytes, std::size_t size) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < size; ++i) digest = (digest ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3U;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

// The files of a bundle. A manifest names no file outside of it.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  std::string read(const std::string& name) const {
    std::ifstream stream(inside(name), std::ios::binary);
    std::stringstream contents;
    contents << stream.rdbuf();
    if (!stream) throw Unusable(inside(name) + ": cannot be read");
    return contents.str();
  }
  std::string read(const std::string& name, std::uint64_t bytes) const {
    std::string contents = read(name);
    if (contents.size() != bytes)
      throw Unusable(inside(name) + ": has " + std::to_string(contents.size()) + " bytes, but must have " + std::to_string(bytes));
    return contents;
  }
  void write(const std::string& name, const char* bytes, std::size_t size) const {
    std::ofstream stream(inside(name), std::ios::binary | std::ios::trunc);
    if (!stream.write(bytes, static_cast<std::streamsize>(size)).flush()) throw Unusable(inside(name) + ": cannot be written");
  }
  void prepare() const {
    std::remove(inside("results.json").c_str());  // of an earlier run
    mkdir(inside("outputs").c_str(), 0777);
  }

 private:
  std::string inside(const std::string& name) const {
    if (name.empty() || name[0] == '/' || name.find("..") != std::string::npos)
      throw Unusable(path_ + "/manifest.json: names '" + name + "', which is no file of the bundle");
    return path_ + '/' + name;
  }

  std::string path_;
};

std::string message_of(NSError* error) {
  return error == nil ? std::string("Metal gives no reason") : std::string([[error localizedDescription] UTF8String]);
}

NSString* string_of(const std::string& text) { return [NSString stringWithUTF8String:text.c_str()]; }

MTLSize size_of(const Json& size) {
  return MTLSizeMake(size.items().at(0).number(), size.items().at(1).number(), size.items().at(2).number());
}

// "uint3" as Metal's enumerators, which are in the order of the components.
MTLDataType data_type_of(std::string type) {
  NSUInteger components = 1;
  if (type.back() >= '2' && type.back() <= '4') {
    components = static_cast<NSUInteger>(type.back() - '0');
    type.pop_back();
  }
  const std::map<std::string, MTLDataType> types = {
      {"bool", MTLDataTypeBool},   {"char", MTLDataTypeChar},     {"uchar", MTLDataTypeUChar}, {"short", MTLDataTypeShort},
      {"int", MTLDataTypeInt},     {"ushort", MTLDataTypeUShort}, {"uint", MTLDataTypeUInt},   {"long", MTLDataTypeLong},
      {"ulong", MTLDataTypeULong}, {"half", MTLDataTypeHalf},     {"float", MTLDataTypeFloat}};
  const auto found = types.find(type);
  if (found == types.end()) throw Unusable("manifest.json: '" + type + "' is no type of a function constant");
  return static_cast<MTLDataType>(found->second + components - 1);
}

// Objects that are ours until the end of a scope.
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    for (id object : objects_) [object release];
  }
  template <typename Object>
  Object keep(Object object) {
    if (object != nil) objects_.push_back(object);
    return object;
  }

 private:
  std::vector<id> objects_;
};

class Runner {
 public:
  Runner(id<MTLDevice> device, Folder folder) : device_(device), folder_(std::move(folder)) {
    queue_ = owned_.keep([device newCommandQueue]);
    if (queue_ == nil) throw Unusable("the device makes no command queue");
  }

  // The case's entry in results.json.
  std::string execute(const Json& one) {
    std::string entry = "{\"name\": " + quoted(one["name"].text()) + ", \"id\": " + quoted(one["id"].text());
    try {
      return entry + ", \"buffers\": [" + outputs_of(one) + "]}";
    } catch (const Refused& refused) {
      std::printf("  %s: %s\n", refused.stage, refused.text.c_str());
      return entry + ", \"error\": {\"stage\": \"" + refused.stage + "\", \"text\": " + quoted(refused.text.substr(0, 4000)) +
             "}, \"buffers\": []}";
    }
  }

  void set_fast_math(bool is_fast) { is_fast_ = is_fast; }

 private:
  struct Memory {
    id<MTLBuffer> buffer = nil;
    std::string before;  // of an input: its bytes before the passes
  };

  std::string outputs_of(const Json& one) {
    Owned owned;
    std::vector<id<MTLComputePipelineState>> pipelines;
    for (const Json& pipeline : one["pipelines"].items()) pipelines.push_back(owned.keep(pipeline_of(pipeline)));
    std::vector<Memory> memory;
    for (const Json& buffer : one["buffers"].items()) memory.push_back(buffer_of(buffer, owned));
    for (const Json& pass : one["passes"].items()) execute_pass(pass, pipelines, memory);

    std::string entries;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const Json& buffer = one["buffers"].items()[i];
      const std::size_t bytes = buffer["bytes"].number();
      const char* contents = static_cast<const char*>([memory[i].buffer contents]);
      const bool is_input = buffer["role"].text() == "input";
      if (is_input && std::memcmp(contents, memory[i].before.data(), bytes) == 0) continue;
      folder_.write(buffer["returns"].text(), contents, bytes);
      entries += entries.empty() ? "" : ", ";
      entries += "{\"buffer\": " + std::to_string(i) + ", \"digest\": \"" + digest_of(contents, bytes) + "\"}";
    }
    return entries;
  }

  // Kept, because many cases have the same source.
  id<MTLLibrary> library_of(const std::string& source, std::uint64_t version) {
    const auto found = libraries_.find({source, version});
    if (found != libraries_.end()) return found->second;
    Owned owned;
    MTLCompileOptions* options = owned.keep([[MTLCompileOptions alloc] init]);
    // 310 is MTLLanguageVersion3_1, (3 << 16) + 1.
    [options setLanguageVersion:static_cast<MTLLanguageVersion>((version / 100 << 16) + version % 100 / 10)];
    [options setFastMathEnabled:is_fast_];
    NSError* error = nil;
    id<MTLLibrary> library = [device_ newLibraryWithSource:string_of(folder_.read(source)) options:options error:&error];
    if (library == nil) throw Refused{"source", message_of(error)};
    libraries_[{source, version}] = owned_.keep(library);
    return library;
  }

  id<MTLComputePipelineState> pipeline_of(const Json& pipeline) {
    id<MTLLibrary> library = library_of(pipeline["source"].text(), pipeline["metal_version"].number());
    Owned owned;
    MTLFunctionConstantValues* constants = owned.keep([[MTLFunctionConstantValues alloc] init]);
    for (const Json& constant : pipeline["constants"].items()) {
      const std::string value = bytes_of_hex(constant["hex"].text());
      [constants setConstantValue:value.data() type:data_type_of(constant["type"].text()) atIndex:constant["index"].number()];
    }
    NSError* error = nil;
    id<MTLFunction> function =
        owned.keep([library newFunctionWithName:string_of(pipeline["function"].text()) constantValues:constants error:&error]);
    if (function == nil) throw Refused{"function", message_of(error)};
    id<MTLComputePipelineState> state = [device_ newComputePipelineStateWithFunction:function error:&error];
    if (state == nil) throw Refused{"function", message_of(error)};
    return state;
  }

  Memory buffer_of(const Json& buffer, Owned& owned) {
    const std::uint64_t bytes = buffer["bytes"].number();
    if (bytes > [device_ maxBufferLength])
      throw Refused{"buffers", "a buffer of " + std::to_string(bytes) + " bytes is more than the device has"};
    Memory memory;
    memory.buffer = owned.keep([device_ newBufferWithLength:bytes == 0 ? 4 : bytes options:MTLResourceStorageModeShared]);
    if (memory.buffer == nil) throw Refused{"buffers", "the device has no memory for a buffer of " + std::to_string(bytes) + " bytes"};
    char* contents = static_cast<char*>([memory.buffer contents]);
    const std::string word = bytes_of_hex(buffer["fill"].text());
    if (word.size() != 4) throw Unusable("manifest.json: 'fill' must have 4 bytes");
    // New buffers are zero, and large ones are mostly never touched.
    for (std::uint64_t i = 0; word != std::string(4, '\0') && i < bytes; ++i) contents[i] = word[i % 4];
    for (const Json& region : buffer["regions"].items()) {
      const std::uint64_t at = region["at"].number();
      const std::uint64_t size = region["bytes"].number();
      if (at > bytes || size > bytes - at) throw Unusable("manifest.json: a region reaches behind its buffer");
      if (region.has("file")) {
        std::memcpy(contents + at, folder_.read(region["file"].text(), size).data(), size);
      } else {
        std::memset(contents + at, static_cast<int>(region["byte"].number()), size);
      }
    }
    if (buffer["role"].text() == "input") memory.before.assign(contents, bytes);
    return memory;
  }

  void execute_pass(const Json& pass, const std::vector<id<MTLComputePipelineState>>& pipelines, const std::vector<Memory>& memory) {
    id<MTLCommandBuffer> commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    if (encoder == nil) throw Refused{"buffers", "the device makes no encoder"};
    if (const std::string refusal = encode_pass(pass, encoder, pipelines, memory); !refusal.empty()) throw Refused{"function", refusal};
    [commands commit];
    [commands waitUntilCompleted];
    if ([commands status] != MTLCommandBufferStatusCompleted) throw Refused{"execute", message_of([commands error])};
  }

  // An encoder must end before it is released.
  struct Ending {
    id<MTLComputeCommandEncoder> encoder;
    ~Ending() { [encoder endEncoding]; }
  };

  std::string encode_pass(const Json& pass, id<MTLComputeCommandEncoder> encoder,
                          const std::vector<id<MTLComputePipelineState>>& pipelines, const std::vector<Memory>& memory) {
    const Ending ending{encoder};
    id<MTLComputePipelineState> current = nil;
    for (const Json& call : pass.items()) {
      if (call["call"].text() == "set_pipeline") current = pipelines.at(call["pipeline"].number());
      if (std::string refusal = encode(call, encoder, current, memory); !refusal.empty()) return refusal;
    }
    return "";
  }

  // Returns why Metal would abort the process at this call; empty after the call.
  std::string encode(const Json& call, id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> current,
                     const std::vector<Memory>& memory) {
    const std::string& name = call["call"].text();
    if (name == "set_pipeline") {
      [encoder setComputePipelineState:current];
    } else if (name == "set_buffer") {
      id<MTLBuffer> buffer = call["buffer"].is_null() ? nil : memory.at(call["buffer"].number()).buffer;
      [encoder setBuffer:buffer offset:call["offset"].number() atIndex:call["index"].number()];
    } else if (name == "set_bytes") {
      const std::string bytes = bytes_of_hex(call["hex"].text());
      [encoder setBytes:bytes.data() length:bytes.size() atIndex:call["index"].number()];
    } else if (name == "set_threadgroup_memory") {
      [encoder setThreadgroupMemoryLength:call["bytes"].number() atIndex:call["index"].number()];
    } else if (name == "barrier") {
      [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
    } else if (name == "dispatch_threadgroups" || name == "dispatch_threads") {
      const MTLSize threads = size_of(call["threads"]);
      const NSUInteger count = threads.width * threads.height * threads.depth;
      if (current == nil) throw Unusable("manifest.json: dispatches without a pipeline");
      if ([current threadExecutionWidth] != 32)
        return "the device has " + std::to_string([current threadExecutionWidth]) + " threads in a simdgroup, not 32";
      if (count > [current maxTotalThreadsPerThreadgroup])
        return "the device allows this kernel " + std::to_string([current maxTotalThreadsPerThreadgroup]) +
               " threads per threadgroup, not " + std::to_string(count);
      if (name == "dispatch_threads")
        [encoder dispatchThreads:size_of(call["grid"]) threadsPerThreadgroup:threads];
      else
        [encoder dispatchThreadgroups:size_of(call["grid"]) threadsPerThreadgroup:threads];
    } else {
      throw Unusable("manifest.json: '" + name + "' is no call that this runner knows");
    }
    return "";
  }

  id<MTLDevice> device_;
  Folder folder_;
  Owned owned_;
  id<MTLCommandQueue> queue_ = nil;
  bool is_fast_ = false;
  std::map<std::pair<std::string, std::uint64_t>, id<MTLLibrary>> libraries_;
};

void run(const std::string& path) {
  const Folder folder(path);
  const Json manifest = Json::parse(folder.read("manifest.json"));
  if (manifest["format"].text() != "assay-bundle" || manifest["version"].number() != 1)
    throw Unusable(path + "/manifest.json: is not of version 1 of assay-bundle");
  Owned owned;
  id<MTLDevice> device = owned.keep(MTLCreateSystemDefaultDevice());
  if (device == nil) throw Unusable("this machine has no Metal device");
  const std::string executed_on =
      std::string([[device name] UTF8String]) + ", macOS " + [[[NSProcessInfo processInfo] operatingSystemVersionString] UTF8String];
  folder.prepare();
  Runner runner(device, folder);
  runner.set_fast_math(manifest["math"].text() == "fast");
  std::string entries;
  for (const Json& one : manifest["cases"].items()) {
    std::printf("%s\n", one["name"].text().c_str());
    std::fflush(stdout);  // Metal may end the process
    @autoreleasepool {
      entries += (entries.empty() ? "\n  " : ",\n  ") + runner.execute(one);
    }
  }
  const std::string results = "{\"format\": \"assay-results\", \"version\": 1, \"runner\": \"metal\", \"executed_on\": " + quoted(executed_on) +
                              ", \"cases\": [" + entries + "\n]}\n";
  folder.write("results.json", results.data(), results.size());
  std::printf("executed on %s\n", executed_on.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: assay_runner BUNDLE\n");
    return 2;
  }
  @autoreleasepool {
    try {
      run(argv[1]);
    } catch (const std::out_of_range&) {
      std::fprintf(stderr, "assay_runner: %s/manifest.json: has a number of a buffer, pipeline or size that it does not have\n", argv[1]);
      return 2;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "assay_runner: %s\n", error.what());
      return 2;
    }
  }
  return 0;
}
