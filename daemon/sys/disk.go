// This file reports the free space of a file system and the owner of a file. It reads and writes no file.

package sys
