# The compiler flags that every source of the module shares; instruction sets are chosen by pragmas in the kernels.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(MSA_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")  # asserts stay on
else()
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(msa_flags INTERFACE)
target_include_directories(msa_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(msa_flags INTERFACE
  -Wall -Wextra
  -ffp-contract=off            # a fused multiply-add would change the last bit against PyTorch
  -fno-math-errno -fcx-fortran-rules
  -fno-plt
  -fopenmp
  -fpch-preprocess)            # lets ccache see through the precompiled header
target_link_options(msa_flags INTERFACE -fopenmp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Thread-locals through descriptors: as quick as initial-exec where the loader has static room for them, and still
  # loadable after PyTorch or MindSpore, which leave none ("cannot allocate memory in static TLS block").
  target_compile_options(msa_flags INTERFACE -mtls-dialect=gnu2)
endif()
if(MSA_WERROR)
  target_compile_options(msa_flags INTERFACE -Werror)
endif()
if(MSA_SANITIZE)
  target_compile_options(msa_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  target_link_options(msa_flags INTERFACE -fsanitize=address,undefined)
  # GCC 12 finds uninitialized values in its own <regex>, with the sanitizers only.
  set_source_files_properties(core/dump/recorder.cpp PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
endif()
