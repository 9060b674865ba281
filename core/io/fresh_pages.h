// Memory that the system has promised but not yet supplied, backed with pages before a copy into it
// would fault for each: most of what a first load costs is this.
#pragma once
#include <cstddef>

namespace msa::io {

// Backs the beginning of this memory, as much as is cheap at once; the number of bytes that are
// backed, at least 1. Whole blocks of 2 MiB get huge pages while the system supplies those quickly.
size_t back_with_pages(char* memory, size_t bytes);

}  // namespace msa::io
