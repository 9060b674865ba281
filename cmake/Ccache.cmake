# Puts ccache before the compiler where it is installed; worktrees of one machine share what they compile.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}                # paths below it are hashed relative to the build folder
    CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros         # without these a precompiled header is never cached
    ${CCACHE_PROGRAM})
endif()
