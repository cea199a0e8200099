// Makes and asks filters of Spark's spark-sketch. Jobs come on standard input, a line each, as systems.mjs says.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.util.sketch.BloomFilter;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

public class Spark {
    static void put(BloomFilter filter, String keys, byte[] line) {
        switch (keys) {
            case "string" -> filter.putString(new String(line, UTF_8));
            case "bytes" -> filter.putBinary(line);
            case "long" -> filter.putLong(Long.parseLong(new String(line, UTF_8)));
            default -> throw new IllegalArgumentException(keys);
        }
    }

    static boolean has(BloomFilter filter, String keys, byte[] line) {
        return switch (keys) {
            case "string" -> filter.mightContainString(new String(line, UTF_8));
            case "bytes" -> filter.mightContainBinary(line);
            case "long" -> filter.mightContainLong(Long.parseLong(new String(line, UTF_8)));
            default -> throw new IllegalArgumentException(keys);
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
            String[] scheme = job[1].split(" ");
            Path filter = Path.of(job[2]);
            if (job[0].equals("make")) {
                long count = Long.parseLong(job[4]);
                double fpr = Double.parseDouble(job[5]);
                BloomFilter made = scheme[1].equals("default")
                        ? BloomFilter.create(count, fpr)
                        : BloomFilter.create(
                                BloomFilter.Version.valueOf(scheme[1]),
                                count,
                                BloomFilter.optimalNumOfBits(count, fpr),
                                scheme.length > 2 ? Integer.parseInt(scheme[2]) : 0);
                for (byte[] key : lines(job[3])) put(made, scheme[0], key);
                try (var out = Files.newOutputStream(filter)) {
                    made.writeTo(out);
                }
            } else {
                try (var in = Files.newInputStream(filter); var out = Files.newBufferedWriter(Path.of(job[4]))) {
                    var asked = BloomFilter.readFrom(in);
                    for (byte[] key : lines(job[3])) out.write(has(asked, scheme[0], key) ? "1\n" : "0\n");
                }
            }
        }
    }
}
