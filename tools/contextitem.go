package tools

import "time"

// ContextItem is a text that hob keeps under a drive and a path.
type ContextItem struct {
	Drive       string    `json:"drive" jsonschema:"agent, url or disk"`
	Path        string    `json:"path" jsonschema:"a free path, an address, or a file"`
	Bytes       int       `json:"bytes" jsonschema:"size of its text"`
	Foreign     string    `json:"foreign,omitempty" jsonschema:"why it is somebody else's text; empty: it is the owner's own"`
	ForeignName bool      `json:"foreign_name,omitempty" jsonschema:"its path may be somebody else's text too"`
	Created     time.Time `json:"created" jsonschema:"when it was first written"`
	Updated     time.Time `json:"updated" jsonschema:"when it was last written"`
	Content     string    `json:"content,omitempty" jsonschema:"its text"`
}

// Name is the drive and the path in one word: "agent:projects/garden".
func (i ContextItem) Name() string { return i.Drive + ":" + i.Path }

// PutContext is a Change. It writes a context item. The commit fails if Only is set and there is such an item, or if there is no room. The store marks
// the item as foreign if the turn has read foreign text, whatever Foreign says.
type PutContext struct {
	Drive, Path string
	Content     string
	Foreign     string // why the content is somebody else's text; "": it is not
	Tainted     bool   // its writer may have been influenced by foreign text
	Only        bool   // never replace
}

// DropContext is a Change. It removes a context item. A missing one is no error.
type DropContext struct{ Drive, Path string }
