package config

import "hob/config/schema"

// Part describes one section. The owner of the section provides it.
// NewReference collects the parts of config and of the plug-ins.
type Part struct {
	Path  string // "model"; NAME is a name that the owner of the file chooses: "jobs.NAME"
	Kind  string // for a channel: the kind with these keys
	Named string // an example of NAME
	Doc   string // one sentence or more
	Keys  []schema.Key

	Several bool   // an array of tables, written [[path]]; its keys have no full names for get and set
	Like    string // the part with the same keys; "" if it has its own
	Example string // the content of the example; "": an example of each key

	// Check finds the mistakes in a plug-in's section, including unknown keys, by the rules of its owner. It must not reach out of the
	// process. config checks its own sections itself.
	Check func(*Snapshot, Section) []Problem
}

// Owned is the knowledge of the plug-ins' owners that Reference needs.
type Owned struct {
	Backends []string // values for backend in [model] and [models.NAME]

	// Model returns what a section still needs before a model can be created, and how to write it; both are "" if nothing is missing. It
	// makes no request.
	Model func(m Model) (missing, hint string)

	Parts []Part // the sections of plug-ins
}
