package sandbox

// olderModes is empty: this processor has only the calls that take a folder's descriptor.
func olderModes(uint32) []flag { return nil }
