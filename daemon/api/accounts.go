package api

// LinkedAccount is an account of the owner at a service.
type LinkedAccount struct {
	Name string `json:"name"`
	AccountAbout
	SignIn  bool   `json:"sign_in,omitempty"` // nobody is signed in: it needs a sign-in in a browser
	Where   string `json:"where,omitempty"`   // where its credentials are stored: "keyring", or the path of a file
	Problem string `json:"problem,omitempty"` // why it cannot be used, and what to do
}

// AccountAbout is what a service has told of an account when it was tested last.
type AccountAbout struct {
	User   string   `json:"user,omitempty"`
	URL    string   `json:"url,omitempty"`
	Has    []string `json:"has,omitempty"`    // for example its calendars
	Detail string   `json:"detail,omitempty"` // what else is worth knowing
}

// AccountValues are what setting up an account needs, by the names of its fields.
type AccountValues struct {
	Values map[string]string `json:"values" need:"true"`
}
