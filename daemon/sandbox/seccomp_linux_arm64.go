package sandbox

// olderModes: this processor's list of calls has none without a folder's descriptor.
func olderModes() []flag { return nil }
