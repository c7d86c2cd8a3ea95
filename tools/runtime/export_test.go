package runtime

// KeyPlaces are the places below the home that hold keys.
func KeyPlaces() []string { return keyPlaces() }
