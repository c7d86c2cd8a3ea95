package embed

// Read takes the vectors of n texts from an answer.
func Read(text string, n int) ([][]float32, int64, error) { return Endpoint{}.read([]byte(text), n) }
