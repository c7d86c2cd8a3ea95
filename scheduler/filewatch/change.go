package filewatch

import "time"

// The changes of watches that tools and commands return. The store applies them in the commit of the result.
type (
	// Put creates a watch.
	Put struct{ Watch Watch }
	// Drop deletes a watch and its snapshot. Its fires stay.
	Drop struct{ ID int64 }
	// Pause pauses or resumes a watch.
	Pause struct {
		ID     int64
		Paused bool
	}
)

// Progress says how far a watch is.
// It comes from the store, because commands and tools read it without the Watcher.
type Progress struct {
	Ready   bool      // the first scan is done; later changes are reported
	Trouble string    // what it cannot see or sees late; "": nothing
	Held    time.Time // until when changes are collected, after failures or because it fired too often; zero: they are not
}
