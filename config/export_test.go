package config

// Parse is Load for a document in memory that nobody else can read; file names it in problems.
func Parse(file string, doc []byte, env []string) (*Snapshot, []Problem, error) {
	return load(file, doc, false, env)
}
