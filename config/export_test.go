package config

// Parse is Load for a document in memory that nobody else can read; file names it in problems.
func Parse(file string, doc []byte, env []string) (*Snapshot, []Problem, error) {
	return load(file, doc, false, env)
}

// WithoutDocument drops the document that a snapshot was read from, so that snapshots can be compared.
func (s *Snapshot) WithoutDocument() *Snapshot {
	s.file, s.root = "", nil
	return s
}
