// Makes and asks filters of bits-and-blooms/bloom. Jobs come on standard input, a line each, as systems.mjs says.
package main

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/bits-and-blooms/bloom"
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

func lines(file string) [][]byte {
	return bytes.Split(bytes.TrimSuffix(must(os.ReadFile(file)), []byte("\n")), []byte("\n"))
}

func main() {
	jobs := bufio.NewScanner(os.Stdin)
	for jobs.Scan() {
		job := strings.Split(jobs.Text(), "\t")
		form, filter, list := job[1], job[2], job[3]
		switch job[0] {
		case "make":
			made := bloom.NewWithEstimates(uint(must(strconv.Atoi(job[4]))), must(strconv.ParseFloat(job[5], 64)))
			for _, key := range lines(list) {
				made.Add(key)
			}
			if form == "json" {
				check(os.WriteFile(filter, must(made.MarshalJSON()), 0o644))
				continue
			}
			file := must(os.Create(filter))
			must(made.WriteTo(file))
			check(file.Close())
		case "ask":
			var asked bloom.BloomFilter
			if form == "json" {
				check(asked.UnmarshalJSON(must(os.ReadFile(filter))))
			} else {
				must(asked.ReadFrom(bytes.NewReader(must(os.ReadFile(filter)))))
			}
			var answers strings.Builder
			for _, key := range lines(list) {
				if asked.Test(key) {
					answers.WriteString("1\n")
				} else {
					answers.WriteString("0\n")
				}
			}
			check(os.WriteFile(job[4], []byte(answers.String()), 0o644))
		}
	}
}
