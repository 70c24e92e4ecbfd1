package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram is the variable that makes the test binary run as the program.
const asProgram = "FAULTPROXY_AS_PROGRAM"

func tokenFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	check(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// program starts the program on free ports, and returns the URLs of its listeners once it serves.
func program(t *testing.T, args ...string) (process *exec.Cmd, clients, admin string) {
	t.Helper()
	args = append([]string{"-listen=127.0.0.1:0", "-admin=127.0.0.1:0"}, args...)
	process = exec.CommandContext(t.Context(), os.Args[0], args...)
	process.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := process.StderrPipe()
	check(t, err)
	check(t, process.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	check(t, err)
	urls := regexp.MustCompile(`https?://[^, ]+`).FindAllString(line, -1)
	if len(urls) != 2 {
		t.Fatal(line)
	}
	return process, urls[0], urls[1]
}

// SIGTERM and SIGINT end the program with exit code 0, even while it holds a request for an hour.
func TestSignalsEndTheProgram(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			process, clients, admin := program(t, "-token-file="+tokenFile(t, "x"), "-seed=5")
			do(t, http.DefaultClient, "PUT", admin+"/faults", `{"rules":[{"delay_ms":3600000}]}`)
			cutOff := make(chan error, 1)
			go func() {
				response, err := newClient(t, true).Get(clients + "/pods")
				if err == nil {
					_ = response.Body.Close()
				}
				cutOff <- err
			}()
			for !strings.Contains(do(t, http.DefaultClient, "GET", admin+"/counts", "").body, `"delayed":1`) {
				time.Sleep(5 * time.Millisecond)
			}
			check(t, process.Process.Signal(signal))
			if err := process.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if err := <-cutOff; err == nil {
				t.Error("the held request was answered")
			}
		})
	}
}

// The flags are checked before anything is served: the token is required, and everything is on loopback, because the
// proxy lends its token to whoever reaches it and to whatever it reaches.
func TestFlagsAreChecked(t *testing.T) {
	file := "-token-file=" + tokenFile(t, "x")
	for message, args := range map[string][]string{
		"-token-file is required":                {},
		"no such file":                           {"-token-file=/does/not/exist"},
		"is empty":                               {"-token-file=" + tokenFile(t, "\n")},
		`-listen: "0.0.0.0:0" is not`:            {file, "-listen=0.0.0.0:0"},
		`-admin: ":0" is not on loopback`:        {file, "-listen=127.0.0.1:0", "-admin=:0"},
		`-target: "https://10.0.0.1" is not on`:  {file, "-target=https://10.0.0.1"},
		`-target: parse "127.0.0.1:6443"`:        {file, "-target=127.0.0.1:6443"},
		`-target: "localhost:6443" is not an ht`: {file, "-target=localhost:6443"},
		`unexpected argument "x"`:                {file, "x"},
	} {
		o, err := parseOptions(args)
		if err == nil {
			err = run(t.Context(), o)
		}
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v: %v, want %q", args, err, message)
		}
	}
}

// Blanks around the token, such as the end of its line, are not part of it.
func TestTokenIsTrimmed(t *testing.T) {
	if got, err := readToken(tokenFile(t, " abc\n")); got != "abc" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// Seed 0 stands for one from the clock; any other is taken as it is.
func TestSeedFlag(t *testing.T) {
	for _, c := range []struct {
		arg    string
		chosen bool
	}{{"-seed=0", false}, {"-seed=5", true}} {
		o, err := parseOptions([]string{"-token-file=x", c.arg})
		check(t, err)
		if o.seed == 0 || (o.seed == 5) != c.chosen {
			t.Errorf("%s: %d", c.arg, o.seed)
		}
	}
}
