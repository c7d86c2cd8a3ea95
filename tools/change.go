package tools

// Mark is a Change. It marks the content of a file as foreign text: it came from elsewhere, or was
// written by a turn that had read foreign text. A turn that reads the file has read foreign text
// too. If Path is a folder, the mark covers everything below it.
type Mark struct {
	Path string `json:"path"` // absolute, symbolic links resolved
	Why  string `json:"why"`  // in a few words: "written by a command with network access"
}
