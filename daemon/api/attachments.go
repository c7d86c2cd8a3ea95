package api

// Attachment is a file that comes with a message.
type Attachment struct {
	Name string // as its sender calls it
	MIME string // what its sender takes it for; "" when he does not say
	Data []byte
}

// Act is a change that somebody asks for: a verb on a row, or on a thing that exists once (ID "").
type Act struct {
	Resource, ID, Verb string
	Args               map[string]string
	Files              []Attachment // only of "send send"
}
