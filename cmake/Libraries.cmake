# Finds the system libraries. OpenBLAS is not linked: kernels/cpu opens it from the scipy-openblas32 package at first
# use, since loading it starts threads.
# oneDNN by its files, as its CMake package asks for OpenCL's headers, which Debian only recommends and nothing here includes.
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(SLEEF_INCLUDE_DIR sleef.h REQUIRED)
find_library(SLEEF_LIBRARY sleef REQUIRED)
find_path(KISSFFT_INCLUDE_DIR kissfft/kissfft.hh REQUIRED)

add_library(msa_libraries INTERFACE)
target_include_directories(msa_libraries SYSTEM INTERFACE ${DNNL_INCLUDE_DIR} ${SLEEF_INCLUDE_DIR} ${KISSFFT_INCLUDE_DIR})
target_link_libraries(msa_libraries INTERFACE ${DNNL_LIBRARY} ${SLEEF_LIBRARY} ${CMAKE_DL_LIBS})
