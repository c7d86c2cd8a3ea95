package importer

// ParseJSON5 is the parser of settings.
var ParseJSON5 = parseJSON5

// ReadPlan plans an import.
var ReadPlan = readPlan

// CarryFile copies one text, and returns the state of the item.
func CarryFile(home, to, text string) (string, error) {
	it := Item{Kind: "file", To: to, State: carried, text: []byte(text)}
	err := carryFile(home, &it)
	return it.State, err
}
