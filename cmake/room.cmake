# SPDX-License-Identifier: Apache-2.0
include(GoogleTest)

# commensal_room(FOLDER [WITHOUT folder ...] [LINK room|library ...] [PRIVATE library ...]
#                [TESTING room ...])
# One room of the house: folder commensal/FOLDER, target commensal_<folder>, alias
# commensal::<folder with ::>. Sources are found by suffix: *_test.cpp makes <target>_test (one
# CTest label a file, see below), *_bench.cpp makes <target>_bench, *_fuzz.cpp is for tests/fuzz,
# what else lies in a folder testing/ is test support and makes <target>_testing, the rest is the
# library. Tests and benches link the test support; cmake/products.cmake proves that nothing else does.
# LINK names other rooms (they contain a slash or are a room already) or libraries whose headers
# may appear in the room's headers; PRIVATE names libraries that stay in leaf sources; TESTING names
# other rooms whose test support this one's tests use.
# Rooms inside the folder are declared before it, and their sources stay theirs; WITHOUT names those
# that must come after it.
set_property(GLOBAL PROPERTY COMMENSAL_ROOMS "")
set_property(GLOBAL PROPERTY COMMENSAL_ROOMS_LATER "")
function(commensal_room folder)
  cmake_parse_arguments(ROOM "" "" "WITHOUT;LINK;PRIVATE;TESTING" ${ARGN})
  string(REPLACE "/" "_" name "commensal_${folder}")
  string(REPLACE "/" "::" alias "commensal::${folder}")
  set(root "${PROJECT_SOURCE_DIR}/commensal/${folder}")

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${root}/*.cpp")
  get_property(rooms GLOBAL PROPERTY COMMENSAL_ROOMS)
  get_property(later GLOBAL PROPERTY COMMENSAL_ROOMS_LATER)
  foreach(inner IN LISTS ROOM_WITHOUT)
    set_property(GLOBAL APPEND PROPERTY COMMENSAL_ROOMS_LATER ${folder}/${inner})
    list(APPEND rooms ${folder}/${inner})
  endforeach()
  foreach(other IN LISTS rooms)
    if(other MATCHES "^${folder}/")
      list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/commensal/${other}/")
    elseif(folder MATCHES "^${other}/" AND NOT folder IN_LIST later)
      message(FATAL_ERROR "room ${folder} lies in ${other}: declare it before")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY COMMENSAL_ROOMS ${folder})
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  set(support ${sources})
  list(FILTER support INCLUDE REGEX "/testing/")
  list(FILTER sources EXCLUDE REGEX "/testing/")

  set(links)
  foreach(item IN LISTS ROOM_LINK)
    string(REPLACE "/" "_" target "commensal_${item}")
    if(TARGET ${target})
      list(APPEND links ${target})
    else()
      list(APPEND links ${item})
    endif()
  endforeach()

  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PUBLIC ${links} Threads::Threads PRIVATE ${ROOM_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} INTERFACE ${links} Threads::Threads)
  endif()
  add_library(${alias} ALIAS ${name})

  if(NOT COMMENSAL_TESTS AND NOT COMMENSAL_FUZZ)
    return()
  endif()
  set(supports)
  foreach(item IN LISTS ROOM_TESTING)
    string(REPLACE "/" "_" target "commensal_${item}_testing")
    list(APPEND supports ${target})
  endforeach()
  if(support)
    add_library(${name}_testing STATIC ${support})
    target_link_libraries(${name}_testing PUBLIC ${name} ${supports} PRIVATE ${ROOM_PRIVATE})
  else()
    add_library(${name}_testing INTERFACE)
    target_link_libraries(${name}_testing INTERFACE ${name} ${supports})
  endif()

  if(COMMENSAL_TESTS AND tests)
    commensal_test(${name}_test SOURCES ${tests} LINK ${name}_testing ${ROOM_PRIVATE})
  endif()
  if(COMMENSAL_TESTS AND benches AND TARGET benchmark::benchmark_main)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE ${name}_testing ${ROOM_PRIVATE}
                                                benchmark::benchmark_main)
  endif()
endfunction()

# commensal_test(NAME SOURCES file ... LINK target ... [LABEL label] [TIMEOUT seconds] [SERIAL])
# A GoogleTest program; SERIAL: what it measures bears nothing beside it. A suite whose name begins with "Equality", "Conformance", "Sim",
# "Exhaustive", "Gpu", "Money", "Governor", "Training" or "Slow" carries that CTest label ("EqualityTraining"
# both, as equality-training), every other one LABEL (default: unit).
function(commensal_test name)
  cmake_parse_arguments(TEST "SERIAL" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT TEST_LABEL)
    set(TEST_LABEL unit)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE COMMENSAL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Half of all compiling is that of tests, and a third less of it with -O1; what they test is -O2.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set(special EqualityTraining Equality Conformance Sim Exhaustive Gpu Money Governor Training Slow)
  set(rest "*")
  set(minus)
  foreach(suite IN LISTS special)
    string(REGEX REPLACE "([a-z])([A-Z])" "\\1-\\2" label ${suite})
    string(TOLOWER ${label} label)
    set(but)
    if(suite STREQUAL Equality)
      set(but "-EqualityTraining*")
    endif()
    gtest_discover_tests(${name} TEST_FILTER "${suite}*${but}" DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS ${label} TIMEOUT 900 RUN_SERIAL ${TEST_SERIAL})
    list(APPEND minus "${suite}*")
  endforeach()
  list(JOIN minus ":" minus)
  gtest_discover_tests(${name} TEST_FILTER "*-${minus}" DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT} RUN_SERIAL ${TEST_SERIAL})
endfunction()
