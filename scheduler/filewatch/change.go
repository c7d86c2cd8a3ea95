package filewatch

// Changes of watches that tools and commands make; the store applies them in the commit of a result.
type (
	// Put makes a watch.
	Put struct{ Watch Watch }
	// Drop deletes a watch and what it last saw; its fires stay.
	Drop struct{ ID int64 }
	// Pause stops a watch, or lets it go on.
	Pause struct {
		ID     int64
		Paused bool
	}
)

// Look is how far a watch has come.
type Look struct {
	Ready   bool   // its first look is done: from then on changes are told
	Trouble string // what it cannot see, or sees late; "": nothing
}
