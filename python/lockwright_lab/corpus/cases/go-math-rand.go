// Goroutines draw random numbers from the global source.
package main

import (
	"math/rand"
	"os"
	"strconv"
	"sync"
)

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	numbers, _ := strconv.Atoi(os.Args[2])
	var all sync.WaitGroup
	for range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			sum := 0
			for range numbers / threads {
				sum += rand.Intn(100)
			}
			if sum == 0 {
				os.Exit(1)
			}
		}()
	}
	all.Wait()
}
