package secret_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/secret"
)

var errBus = errors.New("dbus: couldn't determine address of session bus")

func TestPasswordsOfTheKeyring(t *testing.T) {
	r := &ring{kept: map[string]string{"hob/openrouter": " sk-canary \n", "github/sam": "ghp-canary", "hob/empty": " "}}
	tests := []struct{ ref, want, fault string }{
		{ref: "keyring:openrouter", want: "sk-canary"},
		{ref: "keyring:github/sam", want: "ghp-canary"},
		{ref: "keyring:none", fault: `keyring:none: the keyring has no password of the service "hob" for the account "none"`},
		{ref: "keyring:github/eve", fault: `the service "github" for the account "eve"`},
		{ref: "keyring:empty", fault: "keyring:empty is empty"},
		{ref: "keyring:", fault: "keyring: there is nothing after the colon"},
		{ref: "keyring:/sam", fault: "keyring:/sam: want keyring:NAME, or keyring:SERVICE/NAME"},
		{ref: "keyring:github/", fault: "want keyring:NAME"},
	}
	for _, tt := range tests {
		redact := &secret.Redactor{}
		got, err := secret.Resolver{Keyring: r, Redact: redact}.Resolve(t.Context(), "x", tt.ref)
		switch {
		case tt.fault == "" && (err != nil || got != tt.want || redact.Text(tt.want) != "[secret x]"):
			t.Errorf("%s: got %q, %v, redacted to %q", tt.ref, got, err, redact.Text(tt.want))
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), "canary")):
			t.Errorf("%s: got %q, %v; want an error with %q", tt.ref, got, err, tt.fault)
		}
	}
	if _, err := (secret.Resolver{Keyring: r}).Resolve(t.Context(), "x", "keyring:none"); !errors.Is(err, secret.ErrNone) {
		t.Errorf("no such password: %v is not ErrNone", err)
	}
}

func TestAMachineWithoutAKeyringSaysWhatWorks(t *testing.T) {
	_, err := secret.Resolver{Keyring: &ring{refuse: errBus}}.Resolve(t.Context(), "x", "keyring:a")
	if !errors.Is(err, secret.ErrKeyring) || !errors.Is(err, errBus) || !strings.Contains(err.Error(), "file:PATH always works") {
		t.Errorf("got %v", err)
	}
}

func TestAKeyringThatHangsIsGivenTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &ring{hung: make(chan struct{})}
		begin := time.Now()
		_, err := secret.Resolver{Keyring: r}.Resolve(t.Context(), "x", "keyring:a")
		if took := time.Since(begin); took != 10*time.Second || !errors.Is(err, secret.ErrKeyring) || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("after %v: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := (secret.Resolver{Keyring: r}).Resolve(ctx, "x", "keyring:a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who gives up: %v", err)
		}
		r.mode(nil, false)
	})
}
