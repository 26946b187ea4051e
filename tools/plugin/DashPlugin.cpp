//===- DashPlugin.cpp - dash in a stock mlir-opt --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   mlir-opt --load-dialect-plugin=DashPlugin.so --load-pass-plugin=DashPlugin.so
//            --pass-pipeline='builtin.module(func.func(dash-tile{q=64 kv=128}))'
//
// The tool has read its own command line by the time it loads a plugin, so passes are named in
// --pass-pipeline and not by flags of their own.
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "dash", DASH_VERSION,
          [](mlir::DialectRegistry *registry) { mlir::dash::registerDash(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "dash", DASH_VERSION, [] { mlir::dash::registerDashPasses(); }};
}
