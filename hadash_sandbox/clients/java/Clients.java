import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Several clients of one version of Kafka's own library, as they are configured, in one JVM until SIGTERM.
 *
 * The first argument is the bootstrap address, the second a file with one client a line: role, topic, group and then its
 * configuration (name=value), all separated by tabs. The source is compiled at its start (java Clients.java), against the
 * version in the class path, so it uses only what all versions from 2.0 on have.
 */
public class Clients {
    private static final Duration LOOK = Duration.ofMillis(200);
    private static volatile boolean stopping = false;

    public static void main(String[] arguments) throws Exception {
        List<Thread> clients = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            String[] parts = line.split("\t", -1);
            Properties config = configuration(arguments[0], parts);
            Thread client = new Thread(() -> run(parts[0], parts[1], config), line.split("\t")[0]);
            client.start();
            clients.add(client);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            for (Thread client : clients) {
                try {
                    client.join(10_000);
                } catch (InterruptedException error) {
                    return;
                }
            }
        }));
    }

    private static Properties configuration(String bootstrap, String[] parts) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("security.protocol", "SASL_PLAINTEXT");
        config.put("sasl.mechanism", "PLAIN");
        if (!parts[2].isEmpty()) {
            config.put("group.id", parts[2]);
        }
        for (int at = 3; at < parts.length; at++) {
            int equals = parts[at].indexOf('=');
            config.put(parts[at].substring(0, equals), parts[at].substring(equals + 1));
        }
        return config;
    }

    private static void run(String role, String topic, Properties config) {
        try {
            switch (role) {
                case "produce": produce(topic, config, false); break;
                case "transact": produce(topic, config, true); break;
                default: consume(role, topic, config);
            }
        } catch (Exception error) {
            System.err.println(role + " of " + config.get("client.id") + ": " + error);
        }
    }

    private static void produce(String topic, Properties config, boolean transacts) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (transacts) {
                producer.initTransactions();
            }
            while (!stopping) {
                if (transacts) {
                    producer.beginTransaction();
                }
                producer.send(new ProducerRecord<>(topic, "recorded".getBytes(StandardCharsets.UTF_8)));
                if (transacts) {
                    producer.commitTransaction();
                }
                Thread.sleep(300);
            }
        }
    }

    private static void consume(String role, String topic, Properties config) {
        config.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            if (role.equals("assign")) {
                List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(each -> new TopicPartition(topic, each.partition())).collect(Collectors.toList());
                consumer.assign(partitions);
                consumer.seekToBeginning(partitions);
            } else if (role.equals("pattern")) {
                consumer.subscribe(Pattern.compile(topic), new ConsumerRebalanceListener() {
                    public void onPartitionsRevoked(Collection<TopicPartition> partitions) { }
                    public void onPartitionsAssigned(Collection<TopicPartition> partitions) { }
                });
            } else {
                consumer.subscribe(List.of(topic));
            }
            while (!stopping) {
                consumer.poll(LOOK);
            }
        } catch (WakeupException ended) {
            // the end
        }
    }
}
