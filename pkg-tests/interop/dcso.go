// Makes and asks filters of DCSO's bloom. Jobs come on standard input, a line each, as systems.mjs says. The scheme is
// "text" or "json", and then maybe data that the file carries.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/DCSO/bloom"
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func keys(file string, form string) [][]byte {
	lines := bytes.Split(bytes.TrimSuffix(must(os.ReadFile(file)), []byte("\n")), []byte("\n"))
	if form == "json" {
		for i, line := range lines {
			var key string
			check(json.Unmarshal(line, &key))
			lines[i] = []byte(key)
		}
	}
	return lines
}

func main() {
	jobs := bufio.NewScanner(os.Stdin)
	for jobs.Scan() {
		job := strings.Split(jobs.Text(), "\t")
		form, data, _ := strings.Cut(job[1], " ")
		filter, list := job[2], job[3]
		switch job[0] {
		case "make":
			made := bloom.Initialize(must(strconv.ParseUint(job[4], 10, 64)), must(strconv.ParseFloat(job[5], 64)))
			made.Data = []byte(data)
			for _, key := range keys(list, form) {
				made.Add(key)
			}
			check(bloom.WriteFilter(&made, filter, false))
		case "ask":
			asked := must(bloom.LoadFilter(filter, false))
			var answers strings.Builder
			for _, key := range keys(list, form) {
				if asked.Check(key) {
					answers.WriteString("1\n")
				} else {
					answers.WriteString("0\n")
				}
			}
			check(os.WriteFile(job[4], []byte(answers.String()), 0o644))
		}
	}
}
