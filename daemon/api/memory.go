package api

import (
	"hob/daemon/memory"
	"hob/tools"
)

// ContextItem is a context item, without its text.
type ContextItem = tools.ContextItem

// MemoryStatus is what the index of the memory holds.
type MemoryStatus = memory.Status

// MemoryFile is a memory file in the index.
type MemoryFile = memory.FileRow
