package api

import (
	"net/http"
	"time"

	"hob/scheduler/webhook"
)

type (
	// Hook is a webhook as it is shown.
	Hook = webhook.View
	// HookDraft is a webhook as it is asked for.
	HookDraft = webhook.Texts
	// MadeHook is a webhook that was just made or given a new secret.
	MadeHook = webhook.Made
	// HookTest is what a test of a webhook came to.
	HookTest = webhook.Trial
)

// HookRequest is one request that came to a webhook.
type HookRequest struct {
	Name   string
	Header http.Header
	Body   []byte // as it came
}

// HookReply is what the sender of a delivery is told.
type HookReply struct {
	Status int           // of HTTP; 0: nothing yet
	Doc    any           // below 400: a JSON document
	Detail string        // from 400 on: one sentence
	Hint   string        //
	Retry  time.Duration // when to come again; 0: nothing is said about it
}
