package skills

// Front is a decoded front matter.
type Front = front

// Decode reads a front matter.
func Decode(head string) (Front, error) { return decode(head) }

// Parse reads a SKILL.md in a folder.
func Parse(folder string, text []byte) (name, description string, allowed []string, err error) {
	h, _, err := parse(folder, text)
	return h.Name, h.Description, h.Tools, err
}
