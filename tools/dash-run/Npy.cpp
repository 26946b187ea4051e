//===- Npy.cpp - arrays in files ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file has "\x93NUMPY", a version, the length of the header, the header, and the data. The header
// is a Python dict with three entries: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "dash/Support/ReadFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

static constexpr StringLiteral magic = "\x93NUMPY";

std::string dash_run::formatShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

namespace {

class Reader {
public:
  Reader(StringRef path, StringRef bytes) : path(path), rest(bytes) {}

  Expected<dash_run::NpyArray> read() {
    if (!rest.consume_front(magic))
      return error("a file of numpy's format NPY, which starts with \\x93NUMPY", "other bytes");
    Expected<StringRef> header = readHeader();
    if (!header)
      return header.takeError();
    if (Error failure = parseHeader(*header))
      return std::move(failure);
    return readData();
  }

private:
  Error error(const Twine &expected, const Twine &found) {
    return createStringError(path + ": expected " + expected + ", found " + found);
  }

  Expected<StringRef> readHeader() {
    if (rest.size() < 4)
      return error("a version and a header", "the end of the file");
    unsigned major = uint8_t(rest[0]);
    if (major < 1 || major > 3)
      return error("version 1, 2 or 3 of the format", "version " + Twine(major));
    unsigned lengthBytes = major == 1 ? 2 : 4;
    rest = rest.drop_front(2);
    if (rest.size() < lengthBytes)
      return error("a header", "the end of the file");
    uint64_t length = major == 1 ? support::endian::read16le(rest.data())
                                 : support::endian::read32le(rest.data());
    rest = rest.drop_front(lengthBytes);
    if (rest.size() < length)
      return error("a header of " + Twine(length) + " bytes", Twine(rest.size()) + " bytes");
    StringRef header = rest.take_front(length);
    rest = rest.drop_front(length);
    return header;
  }

  Error parseHeader(StringRef header) {
    StringRef text = header.trim();
    if (!text.consume_front("{") || !text.consume_back("}"))
      return error("a dict as header", "'" + header.rtrim() + "'");
    bool hasType = false, hasOrder = false, hasShape = false;
    for (text = text.trim(); !text.empty(); text = text.ltrim(", ")) {
      StringRef key = takeString(text);
      text = text.ltrim();
      if (!text.consume_front(":"))
        return error("entries 'descr', 'fortran_order' and 'shape'", "'" + header.rtrim() + "'");
      text = text.ltrim();
      if (key == "descr" && !hasType) {
        hasType = true;
        array.type = takeString(text).str();
      } else if (key == "fortran_order" && !hasOrder) {
        hasOrder = true;
        if (!text.consume_front("False"))
          return error("C order (fortran_order False)", "fortran_order " + text.take_until(isEnd));
      } else if (key == "shape" && !hasShape && parseShape(text)) {
        hasShape = true;
      } else {
        return error("entries 'descr', 'fortran_order' and 'shape'", "'" + header.rtrim() + "'");
      }
      text = text.ltrim();
    }
    if (!hasType || !hasOrder || !hasShape)
      return error("entries 'descr', 'fortran_order' and 'shape'", "'" + header.rtrim() + "'");
    return Error::success();
  }
  static bool isEnd(char c) { return c == ',' || c == '}' || c == ' '; }

  /// A quoted string; empty if there is none. An empty string is neither a type nor a key.
  static StringRef takeString(StringRef &text) {
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return {};
    char quote = text[0];
    StringRef string = text.drop_front().take_until([&](char c) { return c == quote; });
    if (string.size() + 2 > text.size())
      return {};
    text = text.drop_front(string.size() + 2);
    return string;
  }

  bool parseShape(StringRef &text) {
    if (!text.consume_front("("))
      return false;
    size_t end = text.find(')');
    if (end == StringRef::npos)
      return false;
    SmallVector<StringRef> sizes;
    text.take_front(end).split(sizes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef size : sizes) {
      int64_t number;
      if (size.trim().empty())
        continue;
      if (size.trim().getAsInteger(10, number) || number < 0)
        return false;
      array.shape.push_back(number);
    }
    text = text.drop_front(end + 1);
    return true;
  }

  Expected<dash_run::NpyArray> readData() {
    std::optional<int64_t> bytes = StringSwitch<std::optional<int64_t>>(array.type)
                                       .Cases({"<u2", "<f2"}, 2)
                                       .Case("<f4", 4)
                                       .Default(std::nullopt);
    if (!bytes)
      return error("type <u2 (bf16 as uint16), <f2 or <f4", array.type);
    for (int64_t size : array.shape)
      if (bytes)
        bytes = checkedMul(*bytes, size);
    if (!bytes || int64_t(rest.size()) != *bytes)
      return error((bytes ? Twine(*bytes) : Twine("more than 2^63")) + " bytes of data for shape " +
                       dash_run::formatShape(array.shape),
                   Twine(rest.size()));
    array.data.assign(rest.begin(), rest.end());
    return std::move(array);
  }

  StringRef path, rest;
  dash_run::NpyArray array;
};

} // namespace

Expected<dash_run::NpyArray> dash_run::readNpy(StringRef path, uint64_t mostBytes) {
  constexpr uint64_t mostHeader = 1 << 20;
  Expected<std::string> bytes = mlir::dash::readFile(path, mostBytes + mostHeader);
  if (!bytes)
    return createFileError(path, bytes.takeError());
  return Reader(path, *bytes).read();
}

std::string dash_run::npyHeader(StringRef type, ArrayRef<int64_t> shape) {
  std::string sizes;
  for (int64_t size : shape)
    sizes += std::to_string(size) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1)
    sizes.resize(sizes.size() - 2);
  std::string dict =
      formatv("{{'descr': '{0}', 'fortran_order': False, 'shape': ({1}), }", type, sizes);
  // The format wants data to start at a multiple of 64, after spaces and a newline.
  size_t begin = magic.size() + 4, end = alignTo(begin + dict.size() + 1, 64);
  dict.append(end - begin - dict.size() - 1, ' ');
  dict += '\n';
  char length[2];
  support::endian::write16le(length, dict.size());
  return magic.str() + std::string("\x01\x00", 2) + std::string(length, 2) + dict;
}
