package runtime

// KeyPlaces are the places below the home that hold keys.
func KeyPlaces() []string { return keyPlaces() }

// What the tests of the inspection use.
type (
	InspectVerdict = verdict
	NamedFiles     = namedFiles
)

// InspectCommand is inspectCommand.
var InspectCommand = inspectCommand

// FileNames is fileNames.
var FileNames = fileNames

// DefaultFiles is defaultFiles.
var DefaultFiles = defaultFiles

// SearchHolds begins a search, and returns whether its result may be used for a folder.
func SearchHolds(dir string) func(string) bool { return newSearch(dir).valid }

// Mentions is mentions.
var Mentions = mentions
