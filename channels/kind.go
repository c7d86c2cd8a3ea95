package channels

import "hob/config/schema"

// Kind is one line of channels/all: how a kind of channel is made, and what its section of the config says.
type Kind struct {
	Name  string
	Named string        // an example of a section's name
	Doc   string        // of the section, one or more sentences
	Notes []schema.Note // of its keys
	Keys  func() []schema.Key
	// New makes a channel; decode fills the adapter's own config struct strictly.
	New func(env Env, decode func(any) error) (Channel, error)
}

// Of completes a kind by its adapter: the config as it is before a section is read into it, and what makes a channel out of it, whose
// errors name the key that is wrong.
func Of[C any, A Channel](k Kind, defaults C, open func(Env, C) (A, error)) Kind {
	k.Keys = func() []schema.Key { return schema.Describe(defaults, k.Notes) }
	k.New = func(env Env, decode func(any) error) (Channel, error) {
		cfg := defaults
		if err := decode(&cfg); err != nil {
			return nil, err
		}
		ch, err := open(env, cfg)
		if err != nil {
			return nil, err
		}
		return ch, nil
	}
	return k
}
