package config

import "hob/config/schema"

// Part is one section as its owner describes it.
type Part struct {
	Path  string // "model"; NAME stands for a name that the owner of the file chooses: "jobs.NAME"
	Kind  string // of a channel: the kind that has these keys
	Named string // an example of NAME
	Doc   string // one or more sentences
	Keys  []schema.Key

	Several bool   // tables in a list: each is written [[path]], and its keys have no full names, which get and set could tell apart
	Like    string // the part whose keys these are, "" when they are its own
	Example string // what stands in it where sections stand together; "": an example of each key

	// Check says what is wrong with a section of a plug-in, unknown keys among it; its owner's own rules, which must not reach out of
	// the process. config checks its own sections itself.
	Check func(*Snapshot, Section) []Problem
}

// Owned is what the reference knows from the owners of what config itself keeps raw.
type Owned struct {
	Backends []string // that [model] and [models.NAME] can name

	// Model says what a section still needs before a model can be made of it, and how to write it; both are "" when it is whole. Nobody is asked.
	Model func(m Model) (missing, hint string)

	Parts []Part // the sections of plug-ins
}
