package slack

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"hob/channels"
)

// Error codes of the Web API's methods, grouped by their meaning for a send.
const (
	badToken = "invalid_auth not_authed account_inactive token_revoked token_expired not_allowed_token_type"                                               // #nosec G101 -- words of the platform: the token is wrong, expired or revoked
	noScope  = "missing_scope no_permission"                                                                                                               // the app may not do this
	never    = "channel_not_found not_in_channel is_archived msg_too_long no_text invalid_blocks restricted_action restricted_action_read_only_channel " + // this message will never be accepted
		"user_not_found users_not_found user_disabled user_not_visible cannot_dm_bot messages_tab_disabled message_not_found cant_update_message edit_window_closed " +
		"file_too_large file_type_not_allowed blocked_file_type posting_to_channel_denied thread_not_found cannot_reply_to_message"
	halfDone = "internal_error fatal_error"                                                                   // documented as: "it's possible some aspect of the operation succeeded"
	passing  = "service_unavailable request_timeout ratelimited rate_limited accesslimited team_added_to_org" // temporary
)

// refused reports whether an error is a refusal with one of the codes.
func refused(err error, codes string) bool {
	var no slack.SlackErrorResponse
	return errors.As(err, &no) && slices.Contains(strings.Fields(codes), no.Err)
}

// rateLimit returns the time that Slack asks to wait ("Rate limits").
func rateLimit(err error) (time.Duration, bool) {
	var wait *slack.RateLimitedError
	if errors.As(err, &wait) {
		return wait.RetryAfter, true
	}
	var status slack.StatusCodeError
	return 0, errors.As(err, &status) && status.Code == http.StatusTooManyRequests
}

// hint adds advice to a refusal, if there is any.
func hint(err error) error {
	var no slack.SlackErrorResponse
	switch {
	case !errors.As(err, &no):
		return err
	case refused(err, badToken):
		return fmt.Errorf("%w; Slack does not accept the token: create a new one at https://api.slack.com/apps, install the app again, and set app_token and bot_token to the tokens shown there", err)
	case refused(err, noScope) && no.Needed != "":
		return fmt.Errorf("the app lacks %s: add the scope at https://api.slack.com/apps under OAuth & Permissions, and install the app again (%w)", no.Needed, err)
	case refused(err, noScope):
		return fmt.Errorf("%w; the app lacks a scope: compare it with the manifest in docs/channels/slack.md", err)
	// These two can be resolved in Slack itself.
	case no.Err == "not_in_channel":
		return fmt.Errorf("%w; write /invite and the app's name in the channel", err)
	case no.Err == "messages_tab_disabled":
		return fmt.Errorf("%w; allow messages to the app at https://api.slack.com/apps under App Home", err)
	}
	return err
}

// explain classifies an error of receiving for the host: come back later, or a lasting refusal.
func explain(err error) error {
	after, limited := rateLimit(err)
	switch {
	case err == nil:
		return nil
	case limited:
		return &channels.RetryAfter{After: after, Err: err}
	case refused(err, badToken+" "+noScope):
		return channels.Refused(hint(err))
	}
	return err
}

// classify classifies a failed send for the pump. maybe reports whether the request may have reached Slack.
func classify(err error, maybe bool) error {
	after, limited := rateLimit(err)
	var no slack.SlackErrorResponse
	var status slack.StatusCodeError
	switch {
	case limited && after > 0: // the limit for posts applies to each conversation
		return &channels.RetryAfter{After: after, Err: fmt.Errorf("%w: %w", channels.ErrAddress, err)}
	case limited:
		return fmt.Errorf("%w: %w", channels.ErrAddress, err)
	case refused(err, never):
		return fmt.Errorf("%w: %w", channels.ErrPermanent, hint(err))
	case refused(err, halfDone) && maybe:
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case errors.As(err, &no):
		return hint(err)
	case errors.As(err, &status) && (!maybe || status.Code != http.StatusInternalServerError && status.Code != http.StatusGatewayTimeout):
		return err
	case maybe:
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	}
	return err
}

// classifyFile is classify for a file. A refusal concerns this file, or files in general, unless it is about the token or temporary. A file
// that was refused for good is never sent again.
func classifyFile(err error, maybe bool) error {
	var no slack.SlackErrorResponse
	var status slack.StatusCodeError
	_, limited := rateLimit(err)
	switch {
	case limited || refused(err, badToken+" "+halfDone+" "+passing):
	case errors.As(err, &no), errors.As(err, &status) && status.Code/100 == 4 && status.Code != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", channels.ErrPermanent, hint(err))
	}
	return classify(err, maybe)
}
