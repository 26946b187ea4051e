//===- ReadManifest.cpp - reads and checks NAME.json ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader gets members by name and type, and keeps the first mistake. Values read after a mistake
// do not matter.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/Manifest.h"
#include "dash/Support/Limits.h"
#include "dash/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

static constexpr int64_t version = 1;
static constexpr int64_t largest = INT32_MAX; // sizes are i32 in the kernels
static constexpr size_t mostItems = 256;

namespace {

/// Reads a JSON object by name and type. Each message states the place.
class Reader {
public:
  Reader(const json::Value *value, std::string place, Outcome &failure)
      : object(value ? value->getAsObject() : nullptr), place(std::move(place)), failure(failure) {
    if (value && !object)
      refuse("", "expected an object", value);
  }

  bool has(StringRef name) const { return object && object->get(name); }

  std::string getString(StringRef name) const {
    const json::Value *value = get(name);
    auto found = value ? value->getAsString() : std::nullopt;
    if (value && !found)
      refuse(name, "expected a string", value);
    return found.value_or("").str();
  }

  /// The name of a file beside the manifest. It cannot leave the manifest's folder, and no tool
  /// takes it for an option.
  std::string getFile(StringRef name) const {
    std::string found = getString(name);
    bool isName = !found.empty() && found != "." && found != ".." && found.front() != '-' &&
                  llvm::all_of(found, [](char c) {
                    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f' && c != '/' &&
                           c != '\\' && c != ':';
                  });
    if (object && object->getString(name) && !isName)
      refuse(name, "expected the name of a file beside the manifest", object->get(name));
    return found;
  }

  int64_t getNumber(StringRef name, int64_t least, int64_t most) const {
    const json::Value *value = get(name);
    auto found = value ? value->getAsInteger() : std::nullopt;
    if (value && (!found || *found < least || *found > most))
      refuse(name, "expected " + Twine(least) + " to " + Twine(most), value);
    return found.value_or(least);
  }
  int64_t getCount(StringRef name) const { return getNumber(name, 1, largest); }

  bool getBool(StringRef name) const {
    const json::Value *value = get(name);
    auto found = value ? value->getAsBoolean() : std::nullopt;
    if (value && !found)
      refuse(name, "expected true or false", value);
    return found.value_or(false);
  }

  /// The index of the member's word among `words`.
  unsigned getChoice(StringRef name, ArrayRef<StringRef> words) const {
    std::string found = getString(name);
    auto place = llvm::find(words, found);
    if (place != words.end())
      return place - words.begin();
    refuse(name, "expected one of " + join(words, ", "), object ? object->get(name) : nullptr);
    return 0;
  }

  Reader getObject(StringRef name) const { return {get(name), placeOf(name), failure}; }

  Expression getExpression(StringRef name) const {
    return readExpression(get(name), placeOf(name));
  }

  std::vector<Expression> getExpressions(StringRef name, size_t least, size_t most) const {
    std::vector<Expression> result;
    for (auto [i, value] : enumerate(getArray(name, least, most)))
      result.push_back(readExpression(&value, placeOf(name, i)));
    result.resize(std::max(result.size(), least));
    return result;
  }

  std::array<uint32_t, 3> getExtent(StringRef name) const {
    std::array<uint32_t, 3> result = {1, 1, 1};
    for (auto [i, value] : enumerate(getArray(name, 3, 3))) {
      auto found = value.getAsInteger();
      if (!found || *found < 1 || *found > largest)
        refuse(name, "expected 3 positive numbers", get(name));
      else
        result[i] = *found;
    }
    return result;
  }

  template <typename Read> auto getObjects(StringRef name, size_t least, Read read) const {
    std::vector<decltype(read(*this))> result;
    for (auto [i, value] : enumerate(getArray(name, least, mostItems)))
      result.push_back(read(Reader(&value, placeOf(name, i), failure)));
    return result;
  }

  /// The names of an object's members, sorted.
  std::vector<std::string> getNames() const {
    std::vector<std::string> names;
    if (object)
      for (const auto &member : *object)
        names.push_back(member.first.str());
    llvm::sort(names);
    if (names.size() > mostItems)
      refuse("", "expected at most " + Twine(mostItems) + " members", nullptr);
    return names;
  }

  void refuse(StringRef name, const Twine &expected, const json::Value *found) const {
    if (failure)
      return;
    std::string text;
    raw_string_ostream stream(text);
    if (found)
      stream << ", found " << *found;
    StringRef shown = StringRef(text).take_front(200); // the reader of the message has the manifest
    failure = fail(DASH_INVALID_MANIFEST, placeOf(name) + ": " + expected + shown);
  }

private:
  std::string placeOf(StringRef name) const {
    return (place + (name.empty() ? "" : ".") + name).str();
  }
  std::string placeOf(StringRef name, size_t index) const {
    return placeOf(name) + "[" + std::to_string(index) + "]";
  }

  const json::Value *get(StringRef name) const {
    const json::Value *value = object ? object->get(name) : nullptr;
    if (object && !value && !failure)
      failure = fail(DASH_INVALID_MANIFEST, Twine(place) + ": has no '" + name + "'");
    return value;
  }

  ArrayRef<json::Value> getArray(StringRef name, size_t least, size_t most) const {
    const json::Value *value = get(name);
    const json::Array *array = value ? value->getAsArray() : nullptr;
    if (array && array->size() >= least && array->size() <= most)
      return ArrayRef(array->data(), array->size());
    if (value)
      refuse(name, "expected a list of " + Twine(least) + " to " + Twine(most), value);
    return {};
  }

  Expression readExpression(const json::Value *value, const std::string &place) const {
    Expression result;
    if (!value || failure)
      return result;
    std::string text = value->getAsString().value_or("").str();
    if (auto number = value->getAsInteger())
      text = std::to_string(*number);
    if (Outcome wrong = Expression::parse(text, place, result))
      failure = std::move(wrong);
    return result;
  }

  const json::Object *object;
  std::string place;
  Outcome &failure;
};

} // namespace

static TensorSpec readTensor(const Reader &tensor) {
  static constexpr DashElement elements[] = {DASH_BF16, DASH_F16, DASH_F32, DASH_I32};
  return {tensor.getString("name"),
          elements[tensor.getChoice("element", {"bf16", "f16", "f32", "i32"})],
          tensor.getChoice("access", {"read", "write"}) == 1,
          tensor.getExpressions("shape", 1, DASH_MAX_RANK),
          tensor.getCount("alignment"),
          tensor.getCount("stride_multiple")};
}

static Region readRegion(const Reader &region) {
  static constexpr Initial initials[] = {Initial::Any, Initial::Zero, Initial::Entry,
                                         Initial::File};
  Region result{region.getString("name"), region.getExpression("bytes"),
                region.getCount("alignment"),
                initials[region.getChoice("initial", {"any", "zero", "entry", "file"})]};
  if (!isPowerOf2_64(result.alignment) || result.alignment > DASH_ALIGNMENT)
    region.refuse("alignment", "expected a power of two up to " + Twine(DASH_ALIGNMENT), nullptr);
  return result;
}

static Entry readEntry(const Reader &entry) {
  static constexpr ParameterType types[] = {ParameterType::Pointer, ParameterType::I32,
                                            ParameterType::I64, ParameterType::F32};
  std::vector<Expression> grid = entry.getExpressions("grid", 3, 3);
  size_t when = entry.getChoice("when", {"always", "sizes-change", "asked"});
  return {entry.getString("name"),
          entry.getString("role"),
          when == 1,
          when == 2,
          {grid[0], grid[1], grid[2]},
          entry.getExtent("block"),
          entry.getExtent("cluster"),
          static_cast<uint32_t>(entry.getNumber("shared_bytes", 0, largest)),
          entry.getBool("cooperative"),
          entry.has("overlaps") && entry.getBool("overlaps"),
          entry.getObjects("parameters", 0, [](const Reader &parameter) {
            return Parameter{parameter.getString("name"),
                             types[parameter.getChoice("type", {"ptr", "i32", "i64", "f32"})]};
          })};
}

static void readOrder(const Reader &order, Manifest &manifest) {
  manifest.orderIsTable = order.getChoice("source", {"entry", "file"}) == 1;
  manifest.orderBytes = 0;
  if (!manifest.orderIsTable)
    return;
  manifest.orderFile = order.getFile("file");
  manifest.orderBytes = order.getCount("bytes");
  manifest.orderSha256 = order.getString("sha256");
  if (order.has("command"))
    manifest.orderCommand = order.getString("command");
}

/// Assembled code beside the PTX. It records the hash of its PTX, so that mismatched files are
/// found.
static void readCubin(const Reader &cubin, Manifest &manifest) {
  manifest.cubinFile = cubin.getFile("file");
  manifest.cubinSha256 = cubin.getString("sha256");
  if (std::string of = cubin.getString("ptx_sha256"); of != manifest.ptxSha256)
    cubin.refuse("ptx_sha256",
                 "expected that of this PTX, " + Twine(manifest.ptxSha256) + ", found " + of +
                     "; assemble it again",
                 nullptr);
  if (std::string target = cubin.getString("target"); target != manifest.target)
    cubin.refuse("target", "expected " + Twine(manifest.target) + " as of the PTX, found " + target,
                 nullptr);
}

/// Sizes in the order in which shapes name them: JSON objects have no order.
static void readSizes(const Reader &sizes, Manifest &manifest) {
  std::vector<std::string> names = sizes.getNames();
  auto rank = [&](const std::string &name) {
    size_t place = 0;
    for (const TensorSpec &tensor : manifest.tensors)
      for (const Expression &dimension : tensor.shape) {
        if (dimension.getText() == name)
          return place;
        ++place;
      }
    sizes.refuse("", "no tensor's shape has the size '" + Twine(name) + "'", nullptr);
    return place;
  };
  llvm::sort(names, [&](const auto &a, const auto &b) {
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  });
  for (const std::string &name : names) {
    Reader size = sizes.getObject(name);
    rank(name);
    if (size.has("value")) {
      int64_t value = size.getNumber("value", 0, largest);
      manifest.sizes.push_back({name, value, value});
    } else {
      manifest.sizes.push_back({name, size.getNumber("min", 0, largest), size.getCount("max")});
    }
  }
}

/// Derived numbers; each may use those before it.
static void readDerived(const Reader &derived, Manifest &manifest, StringSet<> &known) {
  std::vector<std::pair<std::string, Expression>> left;
  for (const std::string &name : derived.getNames())
    left.push_back({name, derived.getExpression(name)});
  auto isKnown = [&](const std::string &name) { return known.contains(name); };
  while (!left.empty()) {
    auto next = llvm::find_if(
        left, [&](const auto &item) { return llvm::all_of(item.second.getNames(), isKnown); });
    if (next == left.end()) {
      derived.refuse("", "'" + left.front().first + "' uses itself or a name that is none",
                     nullptr);
      return;
    }
    known.insert(next->first);
    manifest.derived.push_back(std::move(*next));
    left.erase(next);
  }
}

/// The type of the value behind a parameter's name, if a launcher knows it.
static std::optional<ParameterType> typeOf(const Manifest &manifest, const StringSet<> &numbers,
                                           StringRef name, bool makesOrder) {
  for (const Region &region : manifest.workspace)
    if (name == ("workspace." + Twine(region.name)).str() && (region.isOrder() || !makesOrder))
      return ParameterType::Pointer;
  if (numbers.contains(name))
    return ParameterType::I32;
  if (makesOrder) // its effect depends on sizes only
    return std::nullopt;
  if (name == "scale")
    return ParameterType::F32;
  for (const TensorSpec &tensor : manifest.tensors) {
    if (name == tensor.name)
      return ParameterType::Pointer;
    StringRef rest = name;
    if (rest.consume_front(tensor.name) && rest.consume_front(".stride."))
      for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
        if (rest == strideNames[i])
          return ParameterType::I64;
  }
  return std::nullopt;
}

/// A launcher can derive a value for every parameter, and expressions use only names that have
/// values.
static Outcome checkNames(const Manifest &manifest, const StringSet<> &numbers) {
  std::vector<const Expression *> expressions;
  StringSet<> named;
  for (const Region &region : manifest.workspace) {
    expressions.push_back(&region.bytes);
    if ((region.initial == Initial::File) != (region.isOrder() && manifest.orderIsTable) ||
        !named.insert(region.name).second)
      return fail(DASH_INVALID_MANIFEST,
                  "manifest: the region '" + region.name +
                      "' is there twice, or of another order than the manifest's");
  }
  for (const Constraint &constraint : manifest.constraints)
    expressions.push_back(&constraint.expression);
  for (const TensorSpec &tensor : manifest.tensors) {
    for (const Expression &dimension : tensor.shape)
      expressions.push_back(&dimension);
    if (!named.insert("tensor " + tensor.name).second)
      return fail(DASH_INVALID_MANIFEST,
                  "manifest: the tensor '" + tensor.name + "' is there twice");
  }
  for (const Entry &entry : manifest.entries)
    for (const Expression &extent : entry.grid)
      expressions.push_back(&extent);
  for (const Expression *expression : expressions)
    for (const std::string &name : expression->getNames())
      if (!numbers.contains(name))
        return fail(DASH_INVALID_MANIFEST, expression->getPlace() + ": '" + expression->getText() +
                                               "' uses '" + name + "', which is no size");
  for (const Entry &entry : manifest.entries)
    for (const Parameter &parameter : entry.parameters)
      if (typeOf(manifest, numbers, parameter.name, entry.makesOrder) != parameter.type)
        return fail(DASH_INVALID_MANIFEST, "manifest: entry '" + entry.name + "': parameter '" +
                                               parameter.name +
                                               "' is none of its type that a launcher knows");
  return std::nullopt;
}

namespace mlir::dash::launch {

Outcome readManifest(StringRef text, Manifest &manifest) {
  if (text.size() > maxManifestBytes || nestsDeeper(text, mostNestingOfJson))
    return fail(DASH_INVALID_MANIFEST, "manifest: expected JSON of at most 16 MiB and " +
                                           Twine(mostNestingOfJson) + " levels");
  Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return fail(DASH_INVALID_MANIFEST, "manifest: expected JSON: " + toString(parsed.takeError()));
  Outcome failure;
  Reader root(&*parsed, "manifest", failure);
  if (int64_t found = root.getNumber("version", INT32_MIN, INT32_MAX); !failure && found != version)
    return fail(DASH_INVALID_MANIFEST, "expected manifest version " + Twine(version) + ", found " +
                                           Twine(found) +
                                           "; use the library that came with the compiler");
  Reader ptx = root.getObject("ptx"), program = root.getObject("program");
  manifest.name = root.getString("name");
  manifest.certificate = root.getString("certificate");
  manifest.ptxFile = ptx.getFile("file");
  manifest.ptxSha256 = ptx.getString("sha256");
  manifest.target = ptx.getString("target");
  manifest.headDim = program.getCount("head_dim");
  manifest.workers = program.getNumber("workers", 1, maxWorkers);
  manifest.width = program.getNumber("width", 1, maxWorkers);
  manifest.minWorkers = program.getNumber("min_workers", 1, maxWorkers);
  manifest.isDeterministic = program.getBool("deterministic");
  manifest.tensors = root.getObjects("tensors", 1, readTensor);
  readSizes(root.getObject("sizes"), manifest);
  StringSet<> numbers;
  for (const Size &size : manifest.sizes)
    numbers.insert(size.name);
  numbers.insert("workers");
  numbers.insert("width");
  readDerived(root.getObject("derived"), manifest, numbers);
  manifest.constraints = root.getObjects("constraints", 0, [](const Reader &item) {
    return Constraint{item.getExpression("expression"),
                      item.getNumber("equals", INT64_MIN, INT64_MAX), item.getString("message")};
  });
  manifest.workspace = root.getObjects("workspace", 0, readRegion);
  readOrder(root.getObject("order"), manifest);
  if (root.has("cubin"))
    readCubin(root.getObject("cubin"), manifest);
  manifest.entries = root.getObjects("entries", 1, readEntry);
  return failure ? std::move(failure) : checkNames(manifest, numbers);
}

Outcome Manifest::derive(Values &values) const {
  values["workers"] = workers;
  values["width"] = width;
  for (const auto &[name, expression] : derived)
    if (Outcome wrong = expression.evaluate(values, values[name]))
      return wrong;
  return std::nullopt;
}

StringRef spell(DashElement element) {
  return element == DASH_BF16  ? "bf16"
         : element == DASH_F16 ? "f16"
         : element == DASH_F32 ? "f32"
         : element == DASH_I32 ? "i32"
                               : "no type";
}

uint32_t bytesOf(DashElement element) {
  if (element == DASH_F32 || element == DASH_I32)
    return 4;
  return element == DASH_BF16 || element == DASH_F16 ? 2 : 0;
}

std::string spell(const TensorSpec &spec) {
  return "[" +
         join(map_range(spec.shape,
                        [](const Expression &item) { return StringRef(item.getText()); }),
              ", ") +
         "]";
}

} // namespace mlir::dash::launch
