package keys

// Places are the places below the home that hold keys.
func Places() []string { return places() }
