package api

import (
	"net/http"
	"time"

	"hob/scheduler/webhook"
)

type (
	// Webhook is a webhook as it is shown.
	Webhook = webhook.View
	// WebhookDraft is a webhook as it is asked for.
	WebhookDraft = webhook.Texts
	// MadeWebhook is a webhook that was just made or given a new secret.
	MadeWebhook = webhook.Made
	// WebhookTest is what a test of a webhook came to.
	WebhookTest = webhook.Trial
)

// WebhookRequest is one request that came to a webhook.
type WebhookRequest struct {
	Name   string
	Header http.Header
	Body   []byte // as it came
}

// WebhookReply is what the sender of a delivery is told.
type WebhookReply struct {
	Status int           // of HTTP; 0: nothing yet
	Doc    any           // below 400: a JSON document
	Detail string        // from 400 on: one sentence
	Hint   string        //
	Retry  time.Duration // when to come again; 0: nothing is said about it
}
