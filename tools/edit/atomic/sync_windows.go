package atomic

// syncFolder: folders cannot be synced here; the rename is written through by the file system's own journal.
func syncFolder(string) error { return nil }
