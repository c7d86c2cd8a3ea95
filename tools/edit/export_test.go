package edit

// What the tests of the parts use.
type (
	Job        = job
	FileChange = fileChange
	LongText   = longText
	Span       = span
)

// CommitFiles is commitFiles.
var CommitFiles = commitFiles

// Committed is committed.
var Committed = committed

// NewLongText is newLongText.
var NewLongText = newLongText

// The errors of the parts.
var (
	ErrHalf = errHalf
	ErrMany = errMany
)
