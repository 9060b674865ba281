# One executable with all C++ tests; not part of the default build: `ninja core_tests`.
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cpp/*.cpp)
find_package(doctest CONFIG QUIET)
if(test_sources AND doctest_FOUND)
  add_executable(core_tests EXCLUDE_FROM_ALL ${test_sources})
  target_link_libraries(core_tests PRIVATE msa_core doctest::doctest)
elseif(test_sources)
  message(STATUS "core_tests left out: doctest-dev is not installed")
endif()
