// Makes and asks filters of Guava. Jobs come on standard input, a line each, as systems.mjs says.
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

public class Guava {
    /** A funnel, and what it takes, of a line's bytes. */
    record Keys<T>(Funnel<? super T> funnel, Function<byte[], T> key) {
        void make(Path filter, List<byte[]> keys, long count, double fpr) throws Exception {
            BloomFilter<T> made = BloomFilter.create(funnel, count, fpr);
            for (byte[] line : keys) made.put(key.apply(line));
            try (var out = Files.newOutputStream(filter)) {
                made.writeTo(out);
            }
        }

        void ask(Path filter, List<byte[]> keys, Path answers) throws Exception {
            BloomFilter<T> asked;
            try (var in = Files.newInputStream(filter)) {
                asked = BloomFilter.readFrom(in, funnel);
            }
            try (var out = Files.newBufferedWriter(answers)) {
                for (byte[] line : keys) out.write(asked.mightContain(key.apply(line)) ? "1\n" : "0\n");
            }
        }
    }

    static Keys<?> keys(String funnel) {
        return switch (funnel) {
            case "utf8" -> new Keys<String>(Funnels.stringFunnel(UTF_8), line -> new String(line, UTF_8));
            case "unencoded-chars" -> new Keys<String>(Funnels.unencodedCharsFunnel(), line -> new String(line, UTF_8));
            case "bytes" -> new Keys<byte[]>(Funnels.byteArrayFunnel(), line -> line);
            case "int" -> new Keys<Integer>(Funnels.integerFunnel(), line -> Integer.valueOf(new String(line, UTF_8)));
            case "long" -> new Keys<Long>(Funnels.longFunnel(), line -> Long.valueOf(new String(line, UTF_8)));
            default -> throw new IllegalArgumentException(funnel);
        };
    }

    /** The lines of a file: each byte is a character of ISO 8859-1 meanwhile. */
    static List<byte[]> lines(String file) throws Exception {
        String[] lines = Files.readString(Path.of(file), ISO_8859_1).split("\n");
        return List.of(lines).stream().map(line -> line.getBytes(ISO_8859_1)).toList();
    }

    public static void main(String[] args) throws Exception {
        var jobs = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line; (line = jobs.readLine()) != null; ) {
            String[] job = line.split("\t");
            Path filter = Path.of(job[2]);
            if (job[0].equals("make")) {
                keys(job[1]).make(filter, lines(job[3]), Long.parseLong(job[4]), Double.parseDouble(job[5]));
            } else {
                keys(job[1]).ask(filter, lines(job[3]), Path.of(job[4]));
            }
        }
    }
}
