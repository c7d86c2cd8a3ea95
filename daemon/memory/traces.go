package memory

import (
	"time"

	"hob/daemon/text"
)

// Removal is a fact that is removed from a memory file.
type Removal struct {
	Fact  text.Fact
	Since time.Time // it was not there before; zero: unknown
	Turn  int64     // that removes it; 0: none
}

// Traces is what had a removed fact.
type Traces struct {
	Said      int      `json:"said" jsonschema:"messages and results that tell it; they stay in their conversations, and no search or summary has them any more"`
	Summaries int64    `json:"summaries" jsonschema:"summaries that are made anew"`
	Backups   []string `json:"backups,omitempty" jsonschema:"copies of the database that may still hold it"`
}
