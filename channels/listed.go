package channels

import (
	"fmt"
	"regexp"
	"strings"
)

// Listed is a list of ids in a section of the config, with the form that its ids must have.
type Listed struct {
	Key string
	IDs []string
	IDForm
}

// IDForm describes the ids of one kind.
type IDForm struct {
	OK   func(string) bool
	Want string // completes an error: what such an id looks like, and where the platform shows it
}

// Form describes ids that match a regular expression from end to end.
func Form(pattern, want string) IDForm {
	return IDForm{OK: regexp.MustCompile("^(?:" + pattern + ")$").MatchString, Want: want}
}

// CheckListed checks the lists of a section. Its error names the key, and the first id that is malformed or
// listed twice.
func CheckListed(lists ...Listed) error {
	seen := map[string]string{}
	for _, list := range lists {
		for _, id := range list.IDs {
			if !list.OK(id) {
				return fmt.Errorf("%s: %q is not a valid id; %s", list.Key, id, list.Want)
			}
			if other, twice := seen[id]; twice {
				return fmt.Errorf("%s: %s is listed twice, also in %s; remove one", list.Key, id, other)
			}
			seen[id] = list.Key
		}
	}
	return nil
}

// Check checks the lists of an audience.
func (a Audience) Check(group, person IDForm) error {
	return CheckListed(Listed{"groups", a.Groups, group}, Listed{"known", a.Known, person}, Listed{"public", a.Public, person})
}

// StandIn is the value of every secret while a config is checked, because no secret is read then. It has the form of no token.
const StandIn = "stand-in"

// Token resolves the secret that a key refers to, and checks that it matches a regular expression from end to
// end. missing says where the owner gets a token; looks describes the mismatch and a valid token.
func (e Env) Token(key, ref, missing, pattern, looks string) (string, error) {
	if ref == "" {
		return "", fmt.Errorf("%s: missing; %s", key, missing)
	}
	token, err := e.Secret(ref)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	token = strings.TrimSpace(token)
	if token != StandIn && !Form(pattern, "").OK(token) {
		return "", fmt.Errorf("%s: the value of %q is %s", key, ref, looks)
	}
	return token, nil
}
