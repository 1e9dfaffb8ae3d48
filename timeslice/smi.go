package timeslice

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// SMI sets and reads the time-slice levels of GPUs. No call of NVML does; the one
// public way is the program nvidia-smi, which wants root to set something. It keeps
// nothing, and is safe for concurrent use if its Runner is.
//
//	s := timeslice.SMI{Run: timeslice.Exec(10 * time.Second)}
//	err := s.SetLevel(ctx, uuid, timeslice.LevelShort)
type SMI struct {
	Run     Runner
	Program string // "nvidia-smi" where empty
}

// Listing is what nvidia-smi says about the compute policies of a GPU.
type Listing struct {
	Level Level
	Known bool // the level could be told from the text

	// Text is all that was printed, without blanks around it. Its format is not published: what Known and
	// Level make of it is a guess that rather says nothing than something wrong.
	Text string
}

// SMIError says that nvidia-smi ran and refused. It matches [ErrNotSupported],
// [ErrNoPermission] or [ErrNoDevice] where its text says so.
type SMIError struct {
	Args   []string
	Exit   int
	Output string // of both streams, without blanks around it
}

// Error names the arguments, the exit status and the beginning of the output.
func (e *SMIError) Error() string {
	const most = 200
	output := []rune(e.Output)
	if len(output) > most {
		output = append(output[:most:most], '…')
	}
	return fmt.Sprintf("timeslice: nvidia-smi %s: exit status %d: %q", strings.Join(e.Args, " "), e.Exit, string(output))
}

// Is matches the sentinel for what the output says.
func (e *SMIError) Is(target error) bool {
	for _, r := range refusals {
		if errors.Is(r.is, target) && r.text.MatchString(e.Output) {
			return true
		}
	}
	return false
}

var refusals = []struct {
	is   error
	text *regexp.Regexp
}{
	{ErrNotSupported, regexp.MustCompile(`(?i)\bnot (currently )?(supported|available)\b|\bunsupported\b|\bdoes not support\b|\binvalid combination of input\b|\bunrecognized\b`)},
	{ErrNoPermission, regexp.MustCompile(`(?i)\binsufficient permissions?\b|\bpermission denied\b|\bnot permitted\b|\bdoes not have permission\b`)},
	{ErrNoDevice, regexp.MustCompile(`(?i)\bno devices? (were|was)? ?found\b|\bwas not found\b|\bno such device\b|\bunable to determine the device handle\b`)},
}

// SetLevel sets the level of one GPU, by UUID, index or PCI address. nil means that
// nvidia-smi says it did. A MIG instance has no level: [ErrNotSupported], without
// asking. Otherwise the error is an *[SMIError] if it refused, wraps [ErrInput] for
// a GPU or a level that is malformed, or is that of the Runner.
//
// The level is of use only where the compute mode lets several processes in: see
// SetDefaultMode.
func (s SMI) SetLevel(ctx context.Context, gpu string, l Level) error {
	if int(l) >= len(levelNames) {
		return fmt.Errorf("%w: GPU %s: %s", ErrInput, gpu, l)
	}
	_, err := s.run(ctx, gpu, "compute-policy", "-i", gpu, "--set-timeslice", strconv.Itoa(int(l)))
	return err
}

// SetDefaultMode sets the compute mode of one GPU to the one in which any number of
// processes may have a context, as the DRA driver does before it sets a level.
// Errors as of SetLevel.
func (s SMI) SetDefaultMode(ctx context.Context, gpu string) error {
	_, err := s.run(ctx, gpu, "-i", gpu, "-c", "DEFAULT")
	return err
}

// Level reads the compute policies of one GPU. A text that says nothing about the
// level is no error: look at Known. Errors as of SetLevel; the Listing then has the
// text, if there is any.
func (s SMI) Level(ctx context.Context, gpu string) (Listing, error) {
	text, err := s.run(ctx, gpu, "compute-policy", "-i", gpu, "-l")
	l := Listing{Text: text}
	if err == nil {
		l.Level, l.Known = parseListing(text)
	}
	return l, err
}

// Probe finds out whether a GPU has levels by setting the one that it has, so that
// nothing changes. nil is yes, [ErrNotSupported] no; any other error means that it
// could not be told, [ErrUnknownLevel] among them: the level that it has cannot be
// read, and another is not tried. A level that somebody else sets meanwhile may be
// undone.
func (s SMI) Probe(ctx context.Context, gpu string) error {
	now, err := s.Level(ctx, gpu)
	if err != nil {
		return err
	}
	if !now.Known {
		return fmt.Errorf("timeslice: GPU %s: %w: cannot read it from %q", gpu, ErrUnknownLevel, now.Text)
	}
	return s.SetLevel(ctx, gpu, now.Level)
}

// gpuID keeps options and lists of GPUs out.
var gpuID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z:.-]*$`)

func (s SMI) run(ctx context.Context, gpu string, args ...string) (string, error) {
	switch {
	case strings.HasPrefix(gpu, "MIG-"):
		return "", fmt.Errorf("timeslice: %s: %w: a MIG instance has no time-slice level or compute mode of its own", gpu, ErrNotSupported)
	case !gpuID.MatchString(gpu):
		return "", fmt.Errorf("%w: GPU %q: neither a UUID, an index nor a PCI address", ErrInput, gpu)
	case s.Run == nil:
		return "", fmt.Errorf("%w: no runner for nvidia-smi", ErrInput)
	}
	program := s.Program
	if program == "" {
		program = "nvidia-smi"
	}
	stdout, stderr, exit, err := s.Run(ctx, program, args...)
	// What is printed to which of the two differs between versions.
	text := strings.TrimSpace(string(stdout) + "\n" + string(stderr))
	if err != nil {
		return text, fmt.Errorf("timeslice: run %s: %w", program, err)
	}
	refused := &SMIError{Args: args, Exit: exit, Output: text}
	if exit != 0 || errors.Is(refused, ErrNotSupported) || errors.Is(refused, ErrNoPermission) || errors.Is(refused, ErrNoDevice) {
		return text, refused
	}
	return text, nil
}

var (
	mentionsSlice = regexp.MustCompile(`(?i)time[ _-]?slice`)
	levelWord     = regexp.MustCompile(`(?i)\b(default|short|medium|long)\b`)
	levelNumber   = regexp.MustCompile(`(?i)time[ _-]?slice[^0-9a-z]*([0-3])[^0-9a-z]*$`)
)

// parseListing looks for the one level that the lines about time slices name; a
// text that names several, or none, says nothing.
func parseListing(text string) (Level, bool) {
	found := map[Level]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !mentionsSlice.MatchString(line) {
			continue
		}
		words := levelWord.FindAllString(line, -1)
		for _, w := range words {
			for i, name := range levelNames {
				if strings.EqualFold(w, name) {
					found[Level(i)] = true
				}
			}
		}
		if m := levelNumber.FindStringSubmatch(line); m != nil && len(words) == 0 {
			found[Level(m[1][0]-'0')] = true
		}
	}
	if len(found) != 1 {
		return 0, false
	}
	for _, l := range Levels() {
		if found[l] {
			return l, true
		}
	}
	return 0, false
}
