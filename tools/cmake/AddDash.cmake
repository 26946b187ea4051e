#===- AddDash.cmake - how a library, a tool and a page of dash are built ----------------------===#
#
# Everything but libdash links the shared libMLIR and libLLVM, and nothing else of theirs. A static
# MLIR library beside them would bring a second copy of MLIR's type ids and option registry into the
# process; the plugin must share those of the tool that loads it.

# What comes with libraries of dash: the shared libraries, unless the target has static ones
# (DASH_STATIC_UPSTREAM).
set(dash_shared_upstream "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:DASH_STATIC_UPSTREAM>>>:MLIR;LLVM>")

# add_dash_library(MLIRDash<Stage> a.cpp b.cpp DEPENDS MLIRDash<Stage>IncGen LINK_LIBS
# MLIRDash<EarlierStage>)
#
# Name only dash's own libraries in LINK_LIBS: libMLIR holds all upstream dialects, passes and
# interfaces. WITHOUT_MLIR says that its files include nothing of MLIR.
function(add_dash_library name)
  cmake_parse_arguments(ARG "WITHOUT_MLIR" "" "DEPENDS;LINK_LIBS" ${ARGN})
  list(REMOVE_ITEM ARG_LINK_LIBS PUBLIC PRIVATE INTERFACE)
  foreach(lib IN LISTS ARG_LINK_LIBS)
    if(NOT lib MATCHES "^(MLIRDash|DashRun$)")
      message(FATAL_ERROR "add_dash_library(${name}): LINK_LIBS takes libraries of dash "
                          "(MLIRDash...), got ${lib}. What is upstream comes with "
                          "libMLIR: remove it from the list.")
    endif()
  endforeach()
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  dash_compile_options(${name})
  if(TARGET dash-precompiled AND NOT ARG_WITHOUT_MLIR)
    dash_use_precompiled_headers(${name})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} "${dash_shared_upstream}")
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Linking is all that a consumer has to do: our headers include MLIR's.
  target_include_directories(${name} SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_features(${name} PUBLIC cxx_std_17)
  install(TARGETS ${name} EXPORT dashTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_dash_tool(dash-opt dash-opt.cpp LINK_LIBS MLIRDashDriver)
function(add_dash_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  dash_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  install(TARGETS ${name} EXPORT dashTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# add_dash_plugin(DashPlugin DashPlugin.cpp LINK_LIBS MLIRDashDriver)
function(add_dash_plugin name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  dash_compile_options(${name})
  set_target_properties(${name} PROPERTIES PREFIX "")
  # MLIR looks for the two mlirGet...PluginInfo functions; all else stays inside, so that a tool
  # that already contains dash does not get its symbols twice.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_dash_shared_library(dash Tools.cpp EXPORTS exports.map HEADERS include/dash-c LINK_LIBS
# MLIRDashDriver)
#
# A library with its own LLVM inside: all archives of the same packages are offered, and the linker
# takes what is used. (Their CMake targets cannot be named: those of MLIR bring the shared libLLVM
# along.) It shows only what EXPORTS names, so a process may hold other copies of LLVM, MLIR and the
# C++ library.
function(add_dash_shared_library name)
  cmake_parse_arguments(ARG "" "EXPORTS;HEADERS" "LINK_LIBS" ${ARGN})
  file(GLOB upstream ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  foreach(compression IN ITEMS z zstd)
    find_library(DASH_LIB_${compression} lib${compression}.a REQUIRED)
    mark_as_advanced(DASH_LIB_${compression})
    list(APPEND upstream ${DASH_LIB_${compression}})
  endforeach()
  add_library(${name} SHARED ${ARG_UNPARSED_ARGUMENTS})
  dash_compile_options(${name})
  set_target_properties(${name} PROPERTIES DASH_STATIC_UPSTREAM ON LINK_DEPENDS ${ARG_EXPORTS}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} ${upstream})
  target_link_options(${name} PRIVATE -fuse-ld=lld -Wl,--version-script=${ARG_EXPORTS}
    -Wl,--gc-sections -static-libstdc++)
  # A sanitizer's runtime is part of the program that loads the library, so its symbols are found
  # there, and nowhere else: programs that were not built with it, such as Python, cannot load this
  # build. Its reports need the names of functions.
  if(NOT DASH_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,--icf=all -Wl,-s)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # In a wheel there are no links between versions: the file itself, under the name that Python asks
  # for.
  install(FILES $<TARGET_FILE:${name}> DESTINATION dash_attn RENAME lib${name}.so
          COMPONENT wheel EXCLUDE_FROM_ALL)
  install(DIRECTORY ${ARG_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h")
endfunction()

function(dash_compile_options name)
  # LLVM's rule: no exceptions. RTTI stays on, as in Debian's LLVM: our classes derive from theirs.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Half of what a file of ours costs to compile is parsing MLIR's headers: they are parsed once, for
# all libraries. A file still includes what it uses; DASH_PRECOMPILED_HEADERS=OFF shows it. Headers
# of our own are not among them, for an edit would rebuild everything.
function(dash_precompile_headers)
  set(headers
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/IR/Builders.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/DialectImplementation.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>
    <mlir/Pass/PassManager.h>
    <mlir/Transforms/DialectConversion.h>)
  file(CONFIGURE OUTPUT precompiled.cpp CONTENT "")
  add_library(dash-precompiled OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
  dash_compile_options(dash-precompiled)
  target_precompile_headers(dash-precompiled PRIVATE ${headers})
  # Its bytes have paths and times inside. For ccache what went in stands for them
  # (CCACHE_PCH_EXTSUM), so that other trees, and the wheel's, find what this one has compiled.
  dash_precompiled_file(precompiled)
  file(SHA256 ${PROJECT_SOURCE_DIR}/tools/cmake/assertions/llvm/ADT/Statistic.h statistics)
  file(CONFIGURE OUTPUT ${precompiled}.sum
    CONTENT "${CMAKE_CXX_COMPILER_VERSION} ${LLVM_PACKAGE_VERSION} ${statistics} ${headers}")
endfunction()

# Where CMake puts what dash-precompiled is.
function(dash_precompiled_file result)
  get_target_property(folder dash-precompiled BINARY_DIR)
  set(${result} ${folder}/CMakeFiles/dash-precompiled.dir/cmake_pch.hxx.pch PARENT_SCOPE)
endfunction()

# Not by REUSE_FROM: that names the file in a way in which ccache does not see a path of this tree.
function(dash_use_precompiled_headers name)
  dash_precompiled_file(precompiled)
  target_compile_options(${name} PRIVATE "SHELL:-include-pch ${precompiled}")
  get_target_property(sources ${name} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${precompiled})
endfunction()

#===- Documentation ---------------------------------------------------------------------------===#

# Generated pages land in <build>/docs, beside the written ones of dialects/dash/docs with their
# examples filled in. `cmake --build build -t dash-doc`.
add_custom_target(dash-doc)

# add_dash_doc(NAME TD -gen-dialect-doc -dialect=dash): a markdown page from a .td file.
function(add_dash_doc name td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${name}.md ${ARGN})
  dash_expand_doc(${name} ${CMAKE_CURRENT_BINARY_DIR}/${name}.md)
endfunction()

# dash_expand_doc(NAME PAGE.md): fills in the examples of a page by running the tests that it names;
# each time, since any of those tests may have changed.
function(dash_expand_doc name page)
  add_custom_target(dash-doc-${name}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/scripts/lit_to_doc.py
            --bin ${PROJECT_BINARY_DIR}/bin --output ${PROJECT_BINARY_DIR}/docs/${name}.md ${page}
    DEPENDS ${page}
    COMMENT "Rendering docs/${name}.md")
  add_dependencies(dash-doc-${name} dash-opt)
  add_dependencies(dash-doc dash-doc-${name})
endfunction()

#===- Install ---------------------------------------------------------------------------------===#

# What an installed dash looks like is what an installed MLIR looks like: .h, .td and .h.inc side by
# side below include/, a config file below lib/cmake/, the pages below share/doc/.
function(dash_install_package)
  set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dash)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/dash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.td" PATTERN "*.json" PATTERN docs EXCLUDE
          PATTERN examples EXCLUDE)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/dialects/dash DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/dash/docs/
          DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/dash/examples
          DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
          DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
  install(EXPORT dashTargets DESTINATION ${config_dir})

  include(CMakePackageConfigHelpers)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/dashConfig.cmake.in
    ${PROJECT_BINARY_DIR}/dashConfig.cmake INSTALL_DESTINATION ${config_dir}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/dashConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/dashConfig.cmake ${PROJECT_BINARY_DIR}/dashConfigVersion.cmake
          DESTINATION ${config_dir})
endfunction()
