package api

// SkillState says what the owner decided about the content of a folder.
type SkillState string

// The states of a row.
const (
	SkillAsked    SkillState = "asked"    // a question is open
	SkillRefused  SkillState = "refused"  // the owner said no, or nothing
	SkillAccepted SkillState = "accepted" // the owner said yes; the copy is not made yet
	SkillTrusted  SkillState = "trusted"  // the copy is in use
)

// SkillRow is a decision about a folder with a certain content.
type SkillRow struct {
	Name  string
	Hash  string // of the tree
	State SkillState
}

// Skill is a folder with a skill: what it holds, and whether the owner has accepted it.
type Skill struct {
	Name          string   `json:"name"`
	State         string   `json:"state"` // trusted, changed, asked, new, refused, broken
	Description   string   `json:"description,omitempty"`
	License       string   `json:"license,omitempty"`
	Compatibility string   `json:"compatibility,omitempty"`
	Tools         []string `json:"allowed_tools,omitzero"`  // nil: all
	Unknown       []string `json:"unknown_tools,omitempty"` // allowed tools that hob does not have: they allow nothing
	Scripts       int      `json:"scripts"`                 // files that can run
	Files         []string `json:"files,omitempty"`         // besides SKILL.md
	Bytes         int      `json:"bytes,omitempty"`
	Hash          string   `json:"hash,omitempty"`     // of what the folder holds now
	InUse         string   `json:"in_use,omitempty"`   // hash of the copy that is used; "": none
	Problem       string   `json:"problem,omitempty"`  // what is wrong with the folder
	Text          string   `json:"skill_md,omitempty"` // SKILL.md of the folder, or of the copy in use if the folder has none; "" in lists
}

// SkillSource says where a skill comes from, or which one is checked.
type SkillSource struct {
	From string `json:"from" need:"true"` // an absolute path of a folder, or the https address of a git repository; of check also a name
	Path string `json:"path,omitempty"`   // the folder inside the repository; "": it has only one skill
}

// SkillHash binds the acceptance of a skill to what its folder held when the owner looked at it.
type SkillHash struct {
	Hash string `json:"hash,omitempty"` // at least 8 of its first digits; "": what the folder holds now
}
