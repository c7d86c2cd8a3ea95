package channels

import "hob/config/schema"

// Kind is one line of channels/all: how to make a channel of this kind, and the description of its config
// section.
type Kind struct {
	Name  string
	Named string        // example of a section's name
	Doc   string        // describes the section in one or more sentences
	Notes []schema.Note // describe its keys
	Keys  func() []schema.Key
	// New makes a channel; decode fills the adapter's own config struct strictly.
	New func(env Env, decode func(any) error) (Channel, error)
}

// Of completes a kind with its adapter: the defaults of the config, and the function that makes a channel
// from it. The errors of open name the config key that is wrong.
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
