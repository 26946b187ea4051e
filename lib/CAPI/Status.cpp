//===- Status.cpp - the C API's version and the names of its statuses -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash-c/Compile.h"

uint32_t dashGetApiVersion(void) { return DASH_API_VERSION; }

const char *dashGetStatusName(DashStatus status) {
  switch (status) {
  case DASH_SUCCESS:
    return "DASH_SUCCESS";
  case DASH_INVALID_ARGUMENT:
    return "DASH_INVALID_ARGUMENT";
  case DASH_INVALID_PROGRAM:
    return "DASH_INVALID_PROGRAM";
  case DASH_INVALID_MANIFEST:
    return "DASH_INVALID_MANIFEST";
  case DASH_NO_CAPACITY:
    return "DASH_NO_CAPACITY";
  case DASH_DRIVER_ERROR:
    return "DASH_DRIVER_ERROR";
  case DASH_UNUSABLE:
    return "DASH_UNUSABLE";
  }
  return "unknown status";
}
