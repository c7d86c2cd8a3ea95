package tools

// Mark is a Change: it says of a file that its content is not the owner's but came from elsewhere, or was written by a turn that
// had read such text. Whoever reads it from then on has read something foreign. Path may be a folder: then it stands for all below it.
type Mark struct {
	Path string `json:"path"` // absolute, symbolic links resolved
	Why  string `json:"why"`  // in a few words: "written by a command with network access"
}
