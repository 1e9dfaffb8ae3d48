package mps

import (
	"context"
	"strings"
)

// noDaemonText begins a line of what the program says if nobody listens.
// Observed, with exit status 1; on which stream is not known.
const noDaemonText = "cannot find mps control daemon"

// knownText is a text that a failure contains, in lower case.
type knownText struct {
	text string
	kind Kind
}

// knownTexts are looked for in this order. The first part is what drivers were seen
// to print or what is documented; the exact words of most failures are not published,
// and the second part is what such a text can be expected to contain. What matches
// nothing is Unparsed, and the reply is in the error either way.
var knownTexts = [...]knownText{
	{noDaemonText, NoDaemon},
	{"in use. terminate all clients", InUse}, // before it a %s that the daemon does not fill in, and exit status 0
	{"failed to fulfill the requested sm partition", Refused},
	{"an instance of this daemon is already running", Refused},
	{"cuda_error_mps_server_not_ready", NotReady},
	{"server is not ready", NotReady},
	{"server not ready", NotReady},
	{"cuda_error_not_permitted", Refused},
	{"cuda_error_not_supported", Unsupported},
	{"cuda_error_", Fault},

	{"unknown command", Unsupported},
	{"invalid command", Unsupported},
	{"not supported", Unsupported},
	{"unsupported", Unsupported},
	{"not enabled", Unsupported},
	{"in use", InUse},
	{"has clients", InUse},
	{"has active clients", InUse},
	{"already ", Refused},
	{"not found", Refused},
	{"no such", Refused},
	{"does not exist", Refused},
	{"denied", Refused},
	{"not permitted", Refused},
	{"out of range", Refused},
	{"insufficient", Refused},
	{"not enough", Refused},
	{"refused", Refused},
	{"rejected", Refused},
	{"invalid", Refused},
}

// failureTexts tell that something failed, and not why.
var failureTexts = [...]string{"error", "failed", "failure", "cannot", "could not", "unable to", "usage:"}

// edge is how much of a long text is looked at, from its start and from its end: a
// failure is a sentence, not a megabyte.
const edge = 16 << 10

// edges are the parts of a text to be looked at; the second begins with a line.
func edges(text string) [2]string {
	if len(text) <= 2*edge {
		return [2]string{text}
	}
	_, tail, _ := strings.Cut(text[len(text)-edge:], "\n")
	return [2]string{text[:edge], tail}
}

// classify finds what a text that is not the answer expected says went wrong. failed
// is false for a text that does not look like a failure at all; its kind is Unparsed.
func classify(text string) (kind Kind, failed bool) {
	parts := edges(text)
	lower := strings.ToLower(parts[0]) + "\n" + strings.ToLower(parts[1])
	// Some drivers want the variable; around these words theirs are not known.
	if strings.Contains(lower, "cuda_mps_pipe_directory") && strings.Contains(lower, "must be set") {
		return NoDaemon, true
	}
	for _, k := range knownTexts {
		if strings.Contains(lower, k.text) {
			return k.kind, true
		}
	}
	for _, t := range failureTexts {
		if strings.Contains(lower, t) {
			return Unparsed, true
		}
	}
	return Unparsed, false
}

// saysNoDaemon tells whether a line of either stream is the one of an absent daemon.
// Only the start of a line counts: the command line of a client may hold anything.
func saysNoDaemon(out Output) bool {
	return hasLine(out.Stdout, noDaemonText) || hasLine(out.Stderr, noDaemonText)
}

// hasLine tells whether a line of s begins with prefix, which is lower case.
func hasLine(s, prefix string) bool {
	for _, part := range edges(s) {
		for line := range strings.Lines(part) {
			line = strings.TrimLeft(line, " \t\r")
			if len(line) >= len(prefix) && strings.EqualFold(line[:len(prefix)], prefix) {
				return true
			}
		}
	}
	return false
}

// replyError is the error of a run that is not the answer expected.
func replyError(call Call, out Output, err error) error {
	kind, _ := failure(out)
	return &OpError{Kind: kind, Command: call.command(), Reply: out.reply(), Exit: out.Exit, Err: err}
}

// judge tells whether a run failed before its standard output is read: by its status,
// or by what it says on standard error. Neither alone would do, many failures end with
// status 0 and come on standard output.
func judge(call Call, out Output) error {
	if out.Exit != 0 {
		return replyError(call, out, nil)
	}
	if strings.TrimSpace(out.Stderr) != "" {
		if _, failed := classify(out.Stderr); failed || strings.TrimSpace(out.Stdout) == "" {
			return replyError(call, out, nil)
		}
	}
	return nil
}

// ask sends a command line whose answer parse reads from standard output.
func ask[T any](ctx context.Context, c *Client, line string, parse func(string) (T, error)) (T, error) {
	var zero T
	call := Call{Input: line + "\n"}
	out, err := c.do(ctx, call)
	if err != nil {
		return zero, err
	}
	if err := judge(call, out); err != nil {
		return zero, err
	}
	answer, err := parse(out.Stdout)
	if err != nil {
		return zero, replyError(call, out, err)
	}
	return answer, nil
}

// tell sends a command line of whose answer it is not published what it looks like.
// Whatever does not look like a failure is a success, and returned without the blanks
// around it.
func (c *Client) tell(ctx context.Context, line string) (reply string, err error) {
	call := Call{Input: line + "\n"}
	out, err := c.do(ctx, call)
	if err != nil {
		return strings.TrimSpace(out.reply()), err
	}
	return accept(call, out)
}

// list sends a command line of whose answer the format is not published, but that
// parse may understand; rows is nil where it does not, and then tell's rule holds. What
// it does understand is no failure, whatever words are in it.
func list[T any](ctx context.Context, c *Client, line string, parse func(string) []T) (rows []T, reply string, err error) {
	call := Call{Input: line + "\n"}
	out, err := c.do(ctx, call)
	reply = strings.TrimSpace(out.reply())
	if err != nil {
		return nil, reply, err
	}
	if err := judge(call, out); err != nil {
		return nil, reply, err
	}
	if rows = parse(out.Stdout); rows != nil {
		return rows, reply, nil
	}
	_, err = accept(call, out)
	return nil, reply, err
}

// accept is the judgement of tell.
func accept(call Call, out Output) (reply string, err error) {
	reply = strings.TrimSpace(out.reply())
	if err := judge(call, out); err != nil {
		return reply, err
	}
	if _, failed := classify(out.Stdout); failed {
		return reply, replyError(call, out, nil)
	}
	return reply, nil
}

// failure is classify for all that a run said.
func failure(out Output) (kind Kind, failed bool) { return classify(out.reply()) }
